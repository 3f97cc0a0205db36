package actor

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// alarm sets timers, and lets something happen at that moment.
type alarm struct{ meanwhile func() }

func (a alarm) SetTimer(context.Context, session.ID, time.Time) error {
	a.meanwhile()
	return nil
}

// noted is a bell that notes how it was settled.
type noted struct {
	event envelope.Event
	how   chan string
}

func (n noted) Event() envelope.Event   { return n.event }
func (n noted) Deliveries() int         { return 1 }
func (n noted) Ack() error              { n.how <- "ack"; return nil }
func (n noted) Nak(time.Duration) error { n.how <- "nak"; return nil }
func (n noted) InProgress() error       { return nil }
func (n noted) Quarantine(string) error { n.how <- "quarantine"; return nil }

// one bell is all that comes.
func (n noted) Doorbells(ctx context.Context, _ bus.Spec, ring func(bus.Bell)) error {
	ring(n)
	<-ctx.Done()
	return nil
}

func (n noted) Backlog(context.Context, bus.Spec, func(envelope.Event) string) ([]envelope.Event, error) {
	return nil, nil
}

func (s *scripted) AnswerWorkers(context.Context, func(bus.ClaimRef) bool, func(bus.ClaimRef)) error {
	return nil
}

// TestTimerReplacesWithOpenEyes: a session has one timer. A worker that sets it on an old fold has replaced the one that
// another set for what came since: it must not ack before it has seen that.
func TestTimerReplacesWithOpenEyes(t *testing.T) {
	for name, c := range map[string]struct {
		news bool
		want string
	}{"nothing new": {false, "ack"}, "news": {true, "nak"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &shelf{events: map[uint64]envelope.Event{}}
				h.put(0, 1)
				bell := noted{event: h.events[1], how: make(chan string, 1)}
				a, err := NewOn(Machine[trail]{
					Service: "turns", Version: "1",
					Apply: func(s trail, e envelope.Event) trail { return append(s, e.Cursor) },
					Next:  func(_ trail, v machine.View) machine.Step { return machine.Wait{Until: v.Now.Add(time.Hour)} },
				}, Ports{
					Journal: h, Bells: bell, Peers: &scripted{}, Instance: "w", Log: slog.New(slog.DiscardHandler),
					Timers: alarm{func() {
						if c.news {
							h.put(1, 2)
						}
					}},
				}, bus.Spec{Name: "turns"}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- a.Run(ctx) }()
				if how := <-bell.how; how != c.want {
					t.Errorf("settled by %s, want %s", how, c.want)
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestRingLiftsQuarantine: a session whose machine panicked is given up, and tried again when a timer rings, and only then.
func TestRingLiftsQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &shelf{events: map[uint64]envelope.Event{}}
		h.put(0, 1)
		ev := h.events[1]
		how := make(chan string, 1)
		rings := bench{bells: make(chan bus.Bell)}
		sound := false // written between two bells only
		a, err := NewOn(Machine[trail]{
			Service: "turns", Version: "1",
			Apply: func(s trail, e envelope.Event) trail { return append(s, e.Cursor) },
			Next: func(trail, machine.View) machine.Step {
				if !sound {
					panic("poison")
				}
				return nil
			},
		}, Ports{Journal: h, Bells: rings, Peers: &scripted{}, Instance: "w", Log: slog.New(slog.DiscardHandler)},
			bus.Spec{Name: "turns"}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		timer := envelope.Event{Session: ev.Session}
		for i, c := range []struct {
			event envelope.Event
			sound bool
			want  string
		}{
			{ev, false, "quarantine"},
			{ev, true, "quarantine"}, // nobody has looked again
			{timer, false, "quarantine"},
			{ev, true, "quarantine"}, // it was given up once more
			{timer, true, "ack"},
			{ev, true, "ack"},
		} {
			sound = c.sound
			rings.bells <- noted{event: c.event, how: how}
			if got := <-how; got != c.want {
				t.Errorf("bell %d is settled by %s, want %s", i, got, c.want)
			}
			synctest.Wait()
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// bench delivers the bells that a test hands it.
type bench struct{ bells chan bus.Bell }

func (b bench) Doorbells(ctx context.Context, _ bus.Spec, ring func(bus.Bell)) error {
	for {
		select {
		case bell := <-b.bells:
			ring(bell)
		case <-ctx.Done():
			return nil
		}
	}
}

func (b bench) Backlog(context.Context, bus.Spec, func(envelope.Event) string) ([]envelope.Event, error) {
	return nil, nil
}
