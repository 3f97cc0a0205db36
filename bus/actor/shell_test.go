package actor_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

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

// TestManyShortEffects: bells that are worked on for long are not delivered again, be it by many short steps.
func TestManyShortEffects(t *testing.T) {
	redelivered := 0
	err := play(t, actortest.Scenario[queue]{
		Spec: spec, Machine: machineOf(time.Second), Workers: 2, Check: claims(20),
		Script: func(w *actortest.World) {
			say(t, w, 20)
			time.Sleep(20 * time.Second)
			redelivered = w.Redelivered()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if redelivered > 20 { // each may come to the other worker once, which puts it off
		t.Errorf("%d bells were delivered again", redelivered)
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

// TestMachineWithoutEffectThatAsksForOne is given up after some failures, visibly.
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
