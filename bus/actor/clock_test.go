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
)

// later is a bell that was delivered before.
type later struct{ noted }

func (l later) Deliveries() int { return 3 }

func (l later) Doorbells(ctx context.Context, _ bus.Spec, ring func(bus.Bell)) error {
	ring(l)
	<-ctx.Done()
	return nil
}

// settledBy rings once and says how the bell was settled; p lacks the journal and the bells.
func settledBy(t *testing.T, p Ports, bell noted, next func(machine.View) machine.Step) (how string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &shelf{events: map[uint64]envelope.Event{}}
		h.put(0, 1)
		bell.how = make(chan string, 1)
		if bell.event.Session == "" {
			bell.event = h.events[1]
		}
		p.Journal, p.Bells, p.Instance, p.Log = h, later{bell}, "w", slog.New(slog.DiscardHandler)
		a, err := NewOn(Machine[trail]{
			Service: "turns", Version: "1",
			Apply: func(s trail, e envelope.Event) trail { return append(s, e.Cursor) },
			Next:  func(_ trail, v machine.View) machine.Step { return next(v) },
		}, p, bus.Spec{Name: "turns"}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		how = <-bell.how
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return how
}

// TestWhoLivesIsNotTakenOver: two workers whose clocks are an hour apart. The claim's deadline is over by the one of who meets it;
// its owner says that it is at it.
func TestWhoLivesIsNotTakenOver(t *testing.T) {
	for name, c := range map[string]struct {
		answer bus.Answer
		ahead  time.Duration // of the clock of who meets the claim
		want   string
	}{
		"an hour ahead, busy":   {bus.Busy, time.Hour, "nak"},
		"an hour ahead, silent": {bus.Silent, time.Hour, "nak"},
		"an hour ahead, free":   {bus.Free, time.Hour, "ack"},
		"an hour behind, busy":  {bus.Busy, -time.Hour, "nak"},
		"an hour behind, free":  {bus.Free, -time.Hour, "ack"},
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			p := Ports{
				Peers: &scripted{script: []bus.Answer{c.answer}},
				Seams: Seams{Now: func() time.Time { return begun.Add(c.ahead) }},
			}
			got := settledBy(t, p, noted{}, func(v machine.View) machine.Step {
				if v.Gone == 1 {
					return nil
				}
				return machine.Held{Claim: 1, Worker: "other", Since: begun, Deadline: begun.Add(time.Minute), Attempt: 1}
			})
			if got != c.want {
				t.Errorf("settled by %s, want %s", got, c.want)
			}
		})
	}
}

// TestPatience: a stranger's clock shortens what a silent owner is waited for, and never stands for it, nor makes it longer.
func TestPatience(t *testing.T) {
	begun := time.Now()
	for ahead, want := range map[time.Duration]time.Duration{
		-time.Hour: 2 * bus.AckWait, 0: 2 * bus.AckWait, 2 * bus.AckWait: silence, 2 * time.Minute: silence, time.Hour: silence,
	} {
		l := &lane[trail]{a: &shell[trail]{p: Ports{Seams: Seams{Now: func() time.Time { return begun.Add(ahead) }}}}}
		if got := l.patience(machine.Held{Since: begun, Deadline: begun.Add(time.Minute), Attempt: 1}); got != want {
			t.Errorf("%v ahead: %v, want %v", ahead, got, want)
		}
	}
}

// TestATimerThatRingsEarlyIsPutOff: the server's clock is ahead. To set another timer for the same time would have it ring at once,
// over and over.
func TestATimerThatRingsEarlyIsPutOff(t *testing.T) {
	for name, c := range map[string]struct {
		due  time.Duration // of the ring, from now
		want string
	}{"early": {time.Hour, "nak"}, "in time": {-time.Millisecond, "ack"}} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			p := Ports{
				Peers: &scripted{}, Timers: alarm{func() {}},
				Seams: Seams{Now: func() time.Time { return now }},
			}
			ring := noted{event: envelope.Event{Session: one, Time: now.Add(c.due)}}
			got := settledBy(t, p, ring, func(v machine.View) machine.Step { return machine.Wait{Until: v.Now.Add(2 * time.Hour)} })
			if got != c.want {
				t.Errorf("settled by %s, want %s", got, c.want)
			}
		})
	}
}
