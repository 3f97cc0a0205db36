package telemetry

import (
	"slices"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/services/turns"
)

// TestWhatNATSIsAsked: a service asks about its own consumers, the journal and dead letters, and may.
func TestWhatNATSIsAsked(t *testing.T) {
	spec := turns.Spec()
	s := bustest.New(t, spec)
	p := New(Config{})
	b := p.Buses([]bus.Spec{spec})
	if got := read(t, p); len(got.series) == 0 || slices.Contains(b.Lost(), spec.Name) {
		t.Error("without a connection")
	}
	b.look() // asks nobody
	b.at = b.at.Add(-lookEvery)
	c := s.Connect(t, spec.Name)
	b.Track(spec.Name, c)
	got := read(t, p)
	for series, want := range map[string]float64{
		`jetclaw_bus_connected{service="turns"}`: 1, `jetclaw_bus_reconnects_total{service="turns"}`: 0,
		`jetclaw_consumer_pending{stream="EV",consumer="turns"}`: 0, `jetclaw_consumer_ack_pending{stream="TIMERS",consumer="timers-turns"}`: 0,
		`jetclaw_consumer_ack_pending_limit{stream="EV",consumer="turns"}`: float64(bus.DefaultLimits().MaxAckPending),
		`jetclaw_consumer_redelivered{stream="EV",consumer="turns"}`:       0, `jetclaw_consumer_paused{stream="EV",consumer="turns"}`: 0,
		`jetclaw_journal_messages`: 0, `jetclaw_journal_bytes`: 0, `jetclaw_dead_letters`: 0, `jetclaw_probe_failures_total`: 0,
	} {
		if value, ok := got.series[series]; !ok || value != want {
			t.Errorf("%s is %v (%v), want %v", series, value, ok, want)
		}
	}
	if got.series["jetclaw_journal_limit_bytes"] <= 0 {
		t.Error("the journal has no limit")
	}
	if v := c.Violations(); len(v) > 0 {
		t.Errorf("it asks for what it may not: %v", v)
	}
}
