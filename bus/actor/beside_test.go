package actor_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

func question(t *testing.T, w *actortest.World, key string) {
	t.Helper()
	w.Post(sessionID(t, 0), messagev1.Control{Verb: messagev1.Status}, key)
}

// answeredWithin wants all questions answered before the one outcome, and within a time of the last of them.
func answeredWithin(d time.Duration) func(session.ID, []envelope.Event, queue) error {
	return func(s session.ID, events []envelope.Event, q queue) error {
		var asked time.Time
		ended := false
		for _, e := range events {
			switch e.Body.(type) {
			case messagev1.Control:
				asked = e.Time
			case turnv1.Completed:
				ended = true
			case noticev1.Posted:
				if took := e.Time.Sub(asked); took > d || ended {
					return fmt.Errorf("answered after %s, want %s; after the outcome: %v", took, d, ended)
				}
			}
		}
		return claims(1)(s, events, q)
	}
}

// TestBesideAnEffect: questions are answered while an effect runs, by whichever worker hears them, and the effect goes on
// as if nothing had happened, also when there is no room or no server for an answer for a while.
func TestBesideAnEffect(t *testing.T) {
	const takes = 30 * time.Second
	for name, c := range map[string]struct {
		trouble func(*actortest.World)
		within  time.Duration // of the trouble's begin, all is answered
	}{
		"at once":           {func(*actortest.World) {}, 100 * time.Millisecond},
		"lost acks":         {func(w *actortest.World) { w.LoseAcks(2) }, 5 * time.Second},
		"full for a while":  {func(w *actortest.World) { w.Fill(10 * time.Second) }, 12 * time.Second},
		"away for a while":  {func(w *actortest.World) { w.Down(10 * time.Second) }, 17 * time.Second},
		"full to the end":   {func(w *actortest.World) { w.Fill(takes + 5*time.Second) }, time.Minute},
		"away over the end": {func(w *actortest.World) { w.Down(takes + 5*time.Second) }, time.Minute},
	} {
		for workers := 1; workers <= 2; workers++ {
			t.Run(fmt.Sprint(name, workers), func(t *testing.T) {
				err := play(t, actortest.Scenario[queue]{
					Spec: spec, Machine: machineOf(takes), Workers: workers, Check: answeredWithin(c.within), Begin: noZombie,
					Script: func(w *actortest.World) {
						say(t, w, 1)
						time.Sleep(time.Second)
						question(t, w, "a")
						question(t, w, "b")
						question(t, w, "c")
						c.trouble(w)
					},
				})
				if err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// TestAnswersDoNotWaitForTheEffect: nor do they make its owner's bells late.
func TestAnswersDoNotWaitForTheEffect(t *testing.T) {
	var slowest time.Duration
	err := play(t, actortest.Scenario[queue]{
		Spec: spec, Machine: machineOf(50 * time.Second), Check: claims(1),
		Script: func(w *actortest.World) {
			say(t, w, 1)
			for i := range 20 {
				time.Sleep(2 * time.Second)
				question(t, w, fmt.Sprint("q", i))
			}
			time.Sleep(time.Second)
			if n := w.Redelivered(); n > 0 {
				t.Errorf("%d bells were delivered again", n)
			}
			asked := map[string]time.Time{}
			for _, e := range w.Events(sessionID(t, 0)) {
				asked[e.ID] = e.Time
				if b, ok := e.Body.(noticev1.Posted); ok {
					slowest = max(slowest, e.Time.Sub(asked[b.Answers[0]]))
				}
			}
		},
	})
	if err != nil || slowest > 100*time.Millisecond {
		t.Fatalf("the slowest answer took %s; %v", slowest, err)
	}
}

// unwritable is an event that no journal takes, however often it is tried.
type unwritable struct {
	noticev1.Posted
	Never func()
}

// mute is a queue whose answers to questions cannot be stored.
func mute(takes time.Duration) actor.Machine[queue] {
	m := machineOf(takes)
	next, apply := m.Next, m.Apply
	m.Next = func(s queue, v machine.View) machine.Step {
		step := next(s, v)
		if a, ok := step.(machine.Append); ok && a.Beside {
			a.Body = unwritable{Posted: a.Body.(noticev1.Posted)}
			return a
		}
		return step
	}
	m.Apply = func(s queue, ev envelope.Event) queue {
		if b, ok := ev.Body.(unwritable); ok {
			ev.Body = b.Posted
		}
		return apply(s, ev)
	}
	return m
}

// TestWhatCannotBeStoredBeside neither keeps the outcome of an effect from being stored, nor hides that the claim is lost
// or closed, nor is forgotten: such a question is given up, visibly.
func TestWhatCannotBeStoredBeside(t *testing.T) {
	for name, c := range map[string]struct {
		after    func(*actortest.World) // what happens a second after the message
		held     bool                   // the owner hears of its claim's append after three seconds only
		outcomes int                    // of the first worker
	}{
		"the effect ends": {after: func(w *actortest.World) { question(t, w, "a") }, outcomes: 1},
		"the claim is lost": {after: func(w *actortest.World) {
			ghost(t, w)
			question(t, w, "a")
		}},
		"the claim is closed before the effect": {held: true, after: func(w *actortest.World) {
			w.Post(sessionID(t, 0), messagev1.Control{Verb: messagev1.Stop}, "stop")
			question(t, w, "a")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			outcomes, dead := 0, 0
			_ = play(t, actortest.Scenario[queue]{ // it ends with a step that nobody can do
				Spec: spec, Machine: mute(10 * time.Second),
				Script: func(w *actortest.World) {
					if c.held {
						w.HoldAck(3 * time.Second)
					}
					say(t, w, 1)
					time.Sleep(time.Second)
					c.after(w)
					time.Sleep(5 * time.Minute)
					for _, e := range w.Events(sessionID(t, 0)) {
						if b, ok := e.Body.(turnv1.Completed); ok && b.Attempt == 1 {
							outcomes++
						}
					}
					dead = len(w.Dead())
				},
			})
			if outcomes != c.outcomes || dead == 0 {
				t.Fatalf("%d outcomes, want %d; given up %d bells", outcomes, c.outcomes, dead)
			}
		})
	}
}

// TestClaimBesideAClaim is a bug of the machine, and found at once.
func TestClaimBesideAClaim(t *testing.T) {
	m := machineOf(0)
	sound := m.Next
	m.Next = func(s queue, v machine.View) machine.Step {
		step := sound(s, v)
		if a, ok := step.(machine.Append); ok && a.Claim {
			a.Beside = true
			return a
		}
		return step
	}
	var dead []envelope.Event
	err := play(t, actortest.Scenario[queue]{
		Spec: spec, Machine: m,
		Script: func(w *actortest.World) {
			say(t, w, 1)
			time.Sleep(time.Minute)
			dead = w.Dead()
		},
		Check: func(session.ID, []envelope.Event, queue) error { return errors.New("not reached: a step is left") },
	})
	if err == nil || len(dead) != 1 {
		t.Fatalf("given up: %v; %v", dead, err)
	}
}
