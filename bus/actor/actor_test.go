package actor_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// play runs a scenario in a bubble.
func play(t *testing.T, sc actortest.Scenario[queue]) (err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { err = actortest.Run(sc) })
	return err
}

func millis(t *rapid.T, most int, what string) time.Duration {
	return time.Duration(rapid.IntRange(0, most).Draw(t, what)) * time.Millisecond
}

// TestShell drives the shell through random histories of faults, with several workers.
func TestShell(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := work{
			takes: millis(rt, 8000, "work ms"),
			rest:  rapid.SampledFrom([]time.Duration{0, 0, time.Second, 90 * time.Second}).Draw(rt, "rest"),
			fates: rapid.SliceOfN(rapid.SampledFrom([]fate{fine, failing, panicking, empty}), 0, 8).Draw(rt, "fates"),
		}
		sc := actortest.Scenario[queue]{
			Spec: spec, Machine: w.machine(), Workers: rapid.IntRange(1, 3).Draw(rt, "workers"),
			Tape: actortest.Tape(rt), Check: judge, Begin: noZombie,
		}
		deeds := rapid.SliceOfN(rapid.SampledFrom([]string{"hi", "hi", "hi", "hi", "ask", "ask", "ask", "stop", "delete", "purge", "fill", "down"}), 1, 10).Draw(rt, "deeds")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 3000), len(deeds), len(deeds)).Draw(rt, "gaps")
		sc.Script = func(w *actortest.World) {
			for i, d := range deeds {
				time.Sleep(time.Duration(gaps[i]) * time.Millisecond)
				s := sessionID(t, i%2)
				switch d {
				case "hi":
					w.Post(s, messagev1.Received{Text: d}, fmt.Sprint("k", i))
				case "ask":
					w.Post(s, messagev1.Control{Verb: messagev1.Status}, fmt.Sprint("k", i))
				case "stop":
					w.Post(s, messagev1.Control{Verb: messagev1.Stop}, fmt.Sprint("k", i))
				case "delete":
					w.Delete(s, turnv1.SessionDeleted{}, fmt.Sprint("k", i))
				case "purge":
					w.Purge(s)
				case "fill":
					w.Fill(10 * time.Duration(gaps[i]) * time.Millisecond)
				case "down":
					w.Down(10 * time.Duration(gaps[i]) * time.Millisecond)
				}
			}
		}
		if err := play(t, sc); err != nil {
			rt.Fatal(err)
		}
	})
}

// TestShellHandsOver: workers that are asked to stop, at any moment, leave nothing that would have to time out, and no
// effect is taken from one that would have come to its end.
func TestShellHandsOver(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		takes := millis(rt, 15_000, "work ms")
		stops := rapid.SliceOfN(rapid.IntRange(0, 12_000), 1, 4).Draw(rt, "stops")
		messages := rapid.IntRange(1, 5).Draw(rt, "messages")
		gap := millis(rt, 2000, "gap")
		sc := actortest.Scenario[queue]{
			Spec: spec, Machine: machineOf(takes), Workers: rapid.IntRange(1, 2).Draw(rt, "workers"), Check: judge, Begin: noZombie,
			Script: func(w *actortest.World) {
				for i := range messages {
					w.Post(sessionID(t, i%2), messagev1.Received{Text: "hi"}, fmt.Sprint("k", i))
					time.Sleep(gap)
				}
			},
		}
		for _, s := range stops {
			sc.Stops = append(sc.Stops, time.Duration(s)*time.Millisecond)
		}
		if err := play(t, sc); err != nil {
			rt.Fatal(err)
		}
	})
}

// TestShellKeepsAPoisonedSessionApart: a machine that panics over one session goes on with the others.
func TestShellKeepsAPoisonedSessionApart(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(rt, "messages")
		bad := rapid.IntRange(0, n-1).Draw(rt, "poison at")
		sc := actortest.Scenario[queue]{
			Spec: spec, Machine: machineOf(millis(rt, 3000, "work ms")), Workers: rapid.IntRange(1, 2).Draw(rt, "workers"),
			Tape: actortest.Tape(rt), Check: judge, Begin: noZombie,
			Script: func(w *actortest.World) {
				for i := range n {
					text := "hi"
					if i == bad {
						text = poison
					}
					w.Post(sessionID(t, i%2), messagev1.Received{Text: text}, fmt.Sprint("k", i))
					time.Sleep(200 * time.Millisecond)
				}
			},
		}
		if err := play(t, sc); err != nil {
			rt.Fatal(err)
		}
	})
}

// TestShellFindsABrokenMachine keeps the test honest: a machine that takes another's claim for a reason to ack loses
// messages, and that is found.
func TestShellFindsABrokenMachine(t *testing.T) {
	m := machineOf(20 * time.Millisecond)
	m.Next = func(s queue, v machine.View) machine.Step {
		step := next(s, v, 0)
		if _, ok := step.(machine.Held); ok {
			return nil
		}
		return step
	}
	for seed := range uint64(200) {
		found := play(t, actortest.Scenario[queue]{
			Spec: spec, Machine: m, Workers: 3, Tape: actortest.Expand(seed, 150, 500), Check: judge,
			Script: func(w *actortest.World) {
				for i := range 6 {
					w.Post(sessionID(t, 0), messagev1.Received{Text: "hi"}, fmt.Sprint("k", i))
					time.Sleep(30 * time.Millisecond)
				}
			},
		})
		if found != nil {
			return
		}
	}
	t.Fatal("a machine that loses messages was judged right 200 times")
}
