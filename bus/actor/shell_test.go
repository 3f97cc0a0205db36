package actor_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// claims wants exactly n claims in a session, and each message answered once.
func claims(n int) func(session.ID, []envelope.Event, queue) error {
	return func(s session.ID, events []envelope.Event, q queue) error {
		got := 0
		for _, e := range events {
			switch e.Body.(type) {
			case turnv1.Started, turnv1.Resumed:
				got++
			}
		}
		if got != n {
			return fmt.Errorf("%d claims, want %d", got, n)
		}
		return judge(s, events, q)
	}
}

func say(t *testing.T, w *actortest.World, n int) {
	t.Helper()
	for i := range n {
		w.Post(sessionID(t, 0), messagev1.Received{Text: "hi"}, fmt.Sprint("k", i))
	}
}

// TestOutcomeWaitsForTheJournal: an effect that is done is not done again because its outcome could not be stored for a
// while. The work takes 2 s, the trouble 30, the claim holds for 60.
func TestOutcomeWaitsForTheJournal(t *testing.T) {
	for name, trouble := range map[string]func(*actortest.World, time.Duration){
		"full": (*actortest.World).Fill, "away": (*actortest.World).Down,
	} {
		t.Run(name, func(t *testing.T) {
			err := play(t, actortest.Scenario[queue]{
				Spec: spec, Machine: machineOf(2 * time.Second), Workers: 2, Check: claims(1), Begin: noZombie,
				Script: func(w *actortest.World) {
					say(t, w, 1)
					time.Sleep(time.Second)
					trouble(w, 30*time.Second)
				},
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestALeaderThatLags: on a cluster a follower may deliver an event that the leader of the journal has not applied yet. What the
// leader says then is older than the bell in hand, which is not acked for it.
func TestALeaderThatLags(t *testing.T) {
	for _, d := range []time.Duration{5 * time.Millisecond, 100 * time.Millisecond, 30 * time.Second} {
		err := play(t, actortest.Scenario[queue]{
			Spec: spec, Machine: machineOf(time.Second), Workers: 2, Check: claims(1), Begin: noZombie,
			Script: func(w *actortest.World) {
				w.Lag(d)
				say(t, w, 1)
			},
		})
		if err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
}

// TestFailingEffectsAreTriedAgain: how often is the machine's to say; the session is not given up, and a panic of an
// effect says nothing against the machine.
func TestFailingEffectsAreTriedAgain(t *testing.T) {
	for name, f := range map[string]fate{"error": failing, "panic": panicking, "nothing": empty} {
		t.Run(name, func(t *testing.T) {
			w := work{fates: []fate{f, f, f, f, f, f, f}}
			err := play(t, actortest.Scenario[queue]{
				Spec: spec, Machine: w.machine(), Check: claims(8),
				Script: func(w *actortest.World) { say(t, w, 1) },
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestLongWorkKeepsItsBells: bells that are worked on for long are not delivered again, be it one long effect or many
// short ones.
func TestLongWorkKeepsItsBells(t *testing.T) {
	for takes, n := range map[time.Duration]int{50 * time.Second: 1, time.Second: 20} {
		redelivered := 0
		err := play(t, actortest.Scenario[queue]{
			Spec: spec, Machine: machineOf(takes), Check: claims(n),
			Script: func(w *actortest.World) {
				say(t, w, n)
				time.Sleep(time.Minute)
				redelivered = w.Redelivered()
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if redelivered > 0 {
			t.Errorf("%d bells were delivered again over %d effects of %s", redelivered, n, takes)
		}
	}
}

// TestStopLetsEffectsEnd: what has begun may end within Options.Drain.
func TestStopLetsEffectsEnd(t *testing.T) {
	err := play(t, actortest.Scenario[queue]{
		Spec: spec, Machine: machineOf(9 * time.Second), Check: claims(1), Stops: []time.Duration{time.Second},
		Script: func(w *actortest.World) { say(t, w, 1) },
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRecoveryIsSoon: after a kill the next worker does not wait for AckWait.
func TestRecoveryIsSoon(t *testing.T) {
	err := play(t, actortest.Scenario[queue]{
		Spec: spec, Machine: machineOf(10 * time.Second), Check: func(s session.ID, events []envelope.Event, q queue) error {
			if lost := events[2].Time.Sub(events[1].Time) - time.Second; lost > 2*time.Second {
				return fmt.Errorf("somebody goes on %s after the kill", lost)
			}
			return claims(2)(s, events, q)
		},
		Script: func(w *actortest.World) {
			say(t, w, 1)
			time.Sleep(time.Second)
			w.Kill()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOverdueEffectIsLeft: an effect that does not come back from its deadline holds nothing up any more.
func TestOverdueEffectIsLeft(t *testing.T) {
	m, quick := stubborn(5*time.Minute), machineOf(time.Second).Perform
	stuck := m.Perform
	var calls atomic.Int64 // the stuck one goes on beside the others
	m.Perform = func(ctx context.Context, w actor.Work[queue]) (envelope.Body, error) {
		if calls.Add(1) > 1 {
			return quick(ctx, w)
		}
		return stuck(ctx, w)
	}
	var left time.Duration
	err := play(t, actortest.Scenario[queue]{
		Spec: spec, Machine: m, Check: claims(2),
		Script: func(w *actortest.World) {
			say(t, w, 1)
			time.Sleep(4 * time.Minute)
			if events := w.Events(sessionID(t, 0)); len(events) > 2 {
				left = events[2].Time.Sub(events[1].Time)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if left < time.Minute || left > time.Minute+10*time.Second {
		t.Errorf("somebody else went on after %s; the claim was for a minute", left)
	}
}

// ghost takes the open claim over, and is never heard of again.
func ghost(t *testing.T, w *actortest.World) {
	t.Helper()
	events := w.Events(sessionID(t, 0))
	claim := events[len(events)-1].Body.(turnv1.Started).Claim
	claim.Attempt, claim.Worker, claim.Deadline = 2, "ghost", time.Now().Add(time.Minute)
	w.Post(sessionID(t, 0), turnv1.Resumed{Claim: claim}, "ghost")
}

// TestStoodStillBeforeTheEffect: a process that stands still after its claim and goes on when somebody else has it does
// not begin: the journal could stop the outcome, but nothing could call the effect back.
func TestStoodStillBeforeTheEffect(t *testing.T) {
	err := play(t, actortest.Scenario[queue]{
		Spec: spec, Machine: machineOf(time.Second), Check: claims(3), Begin: noZombie,
		Script: func(w *actortest.World) {
			w.HoldAck(20 * time.Second)
			say(t, w, 1)
			time.Sleep(8 * time.Second)
			ghost(t, w)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestStopTellsTheOutcome: when the time to drain is over, what an effect has brought so far is still stored.
func TestStopTellsTheOutcome(t *testing.T) {
	err := play(t, actortest.Scenario[queue]{
		Spec: spec, Machine: stubborn(15 * time.Second), Check: claims(1), Stops: []time.Duration{time.Second},
		Script: func(w *actortest.World) { say(t, w, 1) },
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLostAckIsNoLoss: an append whose ack is lost is recognised by its id: nothing is claimed or done again.
func TestLostAckIsNoLoss(t *testing.T) {
	for n := 1; n <= 4; n++ {
		err := play(t, actortest.Scenario[queue]{
			Spec: spec, Machine: machineOf(time.Second), Check: claims(2),
			Script: func(w *actortest.World) {
				w.LoseAcks(n)
				say(t, w, 2)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestFencedLaneLetsGo: a lane that has lost its claim leaves the bells to whoever has it: not acked, and not put off.
func TestFencedLaneLetsGo(t *testing.T) {
	var fenced, retaken time.Time
	err := play(t, actortest.Scenario[queue]{
		Spec: spec, Machine: machineOf(4 * time.Second), Check: claims(3),
		Script: func(w *actortest.World) {
			say(t, w, 1)
			time.Sleep(2 * time.Second)
			ghost(t, w)
			fenced = time.Now().Add(2 * time.Second)
			time.Sleep(2 * time.Minute)
			for _, e := range w.Events(sessionID(t, 0)) {
				if _, ok := e.Body.(turnv1.Resumed); ok {
					retaken = e.Time
				}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	// AckWait at most from the last sign of progress, a second look at a ghost that nobody answers for, and jitter.
	if d := retaken.Sub(fenced); d < 0 || d > 10*time.Second {
		t.Errorf("somebody went on %s after the lane was fenced", d)
	}
}

// TestNewsEndAnEffect: what comes while an effect runs is folded at once, and ends an effect that is no longer wanted.
// The bell of a stop that this worker gets is news; so is a nudge by the worker that got it.
func TestNewsEndAnEffect(t *testing.T) {
	for name, nudged := range map[string]bool{"bell": false, "nudge": true} {
		t.Run(name, func(t *testing.T) {
			m := machineOf(50 * time.Second)
			perform := m.Perform
			var ended []error
			var lasted time.Duration
			m.Perform = func(ctx context.Context, w actor.Work[queue]) (envelope.Body, error) {
				begun := time.Now()
				b, err := perform(ctx, w)
				lasted, ended = time.Since(begun), append(ended, err)
				return b, err
			}
			err := play(t, actortest.Scenario[queue]{
				Spec: spec, Machine: m, Check: claims(1),
				Script: func(w *actortest.World) {
					say(t, w, 1)
					time.Sleep(time.Second)
					if !nudged {
						w.Post(sessionID(t, 0), messagev1.Control{Verb: messagev1.Stop}, "stop")
						return
					}
					events := w.Events(sessionID(t, 0))
					c := events[len(events)-1].Body.(turnv1.Started).Claim
					w.Post(sessionID(t, 0), turnv1.Cancelled{Turn: c.Turn, Answers: c.Messages}, "stop")
					w.Nudge(sessionID(t, 0))
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(ended) != 1 || !errors.Is(ended[0], actor.ErrWithdrawn) || lasted > 1100*time.Millisecond {
				t.Errorf("effects ended with %v, the last after %s", ended, lasted)
			}
		})
	}
}

// TestMachineThatAsksForWhatIsNotThere is given up after some failures, visibly.
func TestMachineThatAsksForWhatIsNotThere(t *testing.T) {
	m := machineOf(0)
	m.Perform = nil
	var dead []envelope.Event
	err := play(t, actortest.Scenario[queue]{
		Spec: spec, Machine: m,
		Script: func(w *actortest.World) {
			say(t, w, 1)
			time.Sleep(5 * time.Minute)
			dead = w.Dead()
		},
		Check: func(session.ID, []envelope.Event, queue) error { return errors.New("not reached: a step is left") },
	})
	if err == nil || len(dead) != 1 {
		t.Fatalf("given up: %v; %v", dead, err)
	}
}
