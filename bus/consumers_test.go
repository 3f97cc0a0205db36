package bus_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

func topology() bus.Topology {
	limits := bus.DefaultLimits()
	limits.Free = 1 << 30
	return bus.TopologyOf([]bus.Spec{intake, reader}, limits)
}

func TestConsumers(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	c, j := srv.Connect(t, "turns"), srv.Connect(t, "intake").Journal()
	look := func() (events, timers bus.ConsumerState) {
		t.Helper()
		all, err := bus.Consumers(t.Context(), srv.Admin(), topology())
		if err != nil || len(all) != 2 {
			t.Fatalf("%+v, %v", all, err)
		}
		return all[0], all[1]
	}
	for _, peer := range []string{"a", "b", "c"} {
		if _, err := j.Append(t.Context(), envelope.Event{Session: id(t, peer), Body: received("x")}); err != nil {
			t.Fatal(err)
		}
	}
	events, timers := look()
	if events.Service != "turns" || events.Timers || events.Pending != 3 || events.Delivered != 0 || events.Waiting != 0 ||
		timers.Service != "turns" || !timers.Timers || timers.Missing || events.MaxPending == 0 {
		t.Errorf("%+v\n%+v", events, timers)
	}
	n := 0
	collect(t, c, 3, func(b bus.Bell) {
		if n++; n != 2 { // the middle one stays open
			if err := b.Ack(); err != nil {
				t.Error(err)
			}
		}
	})
	waitFor(t, "the acks", func() bool {
		events, _ = look()
		return events.Floor == 1 && events.AckPending == 1
	})
	if events.Pending != 0 || events.Delivered != 3 || time.Since(events.Active) > time.Minute {
		t.Errorf("%+v", events)
	}

	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Doorbells(ctx, reader, func(bus.Bell) {}) }()
	waitFor(t, "somebody at the consumer", func() bool {
		events, timers = look()
		return events.Waiting > 0 && timers.Waiting > 0
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}

	until := time.Now().Add(time.Hour).Truncate(time.Second)
	if _, err := srv.Admin().JetStream().PauseConsumer(t.Context(), subject.Journal, "turns", until); err != nil {
		t.Fatal(err)
	}
	if events, _ = look(); !events.PausedUntil.Equal(until) {
		t.Errorf("paused until %s, want %s", events.PausedUntil, until)
	}
	if err := srv.Admin().JetStream().DeleteConsumer(t.Context(), subject.Timers, "timers-turns"); err != nil {
		t.Fatal(err)
	}
	if _, timers = look(); !timers.Missing || timers.Service != "turns" {
		t.Errorf("%+v", timers)
	}
}

func TestStreams(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	if err := srv.Admin().JetStream().DeleteStream(t.Context(), subject.System); err != nil {
		t.Fatal(err)
	}
	all, err := bus.Streams(t.Context(), srv.Admin(), topology())
	if err != nil || len(all) != len(topology().Streams)-1 || all[0].Name != subject.Journal || all[0].MaxBytes == 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestMend: what is missing comes back, what cannot be changed is made anew, and what is right is left alone.
func TestMend(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	js := srv.Admin().JetStream()
	if _, err := srv.Connect(t, "intake").Journal().Append(t.Context(), envelope.Event{Session: id(t, "a"), Body: received("x")}); err != nil {
		t.Fatal(err)
	}
	cons, err := js.Consumer(t.Context(), subject.Journal, "turns")
	if err != nil {
		t.Fatal(err)
	}
	conf := cons.CachedInfo().Config
	conf.DeliverPolicy = jetstream.DeliverNewPolicy
	if err := js.DeleteConsumer(t.Context(), subject.Journal, "turns"); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateConsumer(t.Context(), subject.Journal, conf); err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteConsumer(t.Context(), subject.Timers, "timers-turns"); err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), subject.System); err != nil {
		t.Fatal(err)
	}
	if _, err := bus.Apply(t.Context(), js, bus.Topology{Consumers: topology().Consumers[:1]}); err == nil {
		t.Error("the server lets a consumer's beginning be changed: nothing has to be made anew any more")
	}
	changes, err := bus.Mend(t.Context(), srv.Admin(), topology())
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, c := range changes {
		said = append(said, c.String())
	}
	got := strings.Join(said, "\n")
	for _, want := range []string{"update consumer EV/turns (deliver_policy", "create consumer TIMERS/timers-turns", "create stream SYS"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if changes, err = bus.Mend(t.Context(), srv.Admin(), topology()); err != nil || len(changes) != 0 {
		t.Errorf("again: %v, %v", changes, err)
	}
	plan, err := bus.Plan(t.Context(), js, topology())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range plan {
		if c.Action != bus.Unchanged {
			t.Errorf("left: %s", c)
		}
	}
	collect(t, srv.Connect(t, "turns"), 1, func(b bus.Bell) { // it rings again
		if err := b.Ack(); err != nil {
			t.Error(err)
		}
	})
}
