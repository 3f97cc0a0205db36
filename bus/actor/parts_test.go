package actor_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// running counts the effects that run, and notes how they ended.
type running struct {
	mu    sync.Mutex
	now   map[string]int // guarded by mu; by call
	sum   int            // guarded by mu
	most  int            // guarded by mu; at a time
	twins int            // guarded by mu; of one call, at a time
	begun int            // guarded by mu
	ends  []error        // guarded by mu
	last  time.Time      // guarded by mu; the last end
}

func (r *running) watch(k tool) tool {
	r.now = make(map[string]int)
	k.begin = func(name string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.begun++
		r.sum++
		r.now[name]++
		r.most, r.twins = max(r.most, r.sum), max(r.twins, r.now[name])
	}
	k.end = func(name string, err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sum--
		r.now[name]--
		r.ends, r.last = append(r.ends, err), time.Now()
	}
	return k
}

// TestParts drives lanes of the same sessions through random histories of faults, with several workers.
func TestParts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := tool{
			takes: millis(rt, 8000, "work ms"),
			rest:  rapid.SampledFrom([]time.Duration{0, 0, 0, time.Second, 90 * time.Second}).Draw(rt, "rest"),
			retry: rapid.Bool().Draw(rt, "retry"), deaf: rapid.Bool().Draw(rt, "deaf"), sweep: rapid.Bool().Draw(rt, "sweep"),
			alone: rapid.IntRange(0, 3).Draw(rt, "alone") == 0,
			fates: make(map[string]fate),
		}
		for i, f := range rapid.SliceOfN(rapid.SampledFrom([]fate{fine, fine, failing, panicking, empty}), 0, 8).Draw(rt, "fates") {
			k.fates[fmt.Sprint("c", i)] = f
		}
		deeds := rapid.SliceOfN(rapid.SampledFrom([]string{
			"call", "call", "call", "call", "call", "call", "look", "look", "stop", "kill", "delete", "purge", "fill", "down",
		}), 1, 16).Draw(rt, "deeds")
		gaps := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 10, 300, 3000}), len(deeds), len(deeds)).Draw(rt, "gaps")
		sc := actortest.Scenario[calls]{
			Workers: rapid.IntRange(1, 3).Draw(rt, "workers"), Tape: actortest.Tape(rt),
			Script: func(w *actortest.World) {
				for i, d := range deeds {
					time.Sleep(time.Duration(gaps[i]) * time.Millisecond)
					s, key := sessionID(t, i/5%2), fmt.Sprint("k", i)
					switch d {
					case "call":
						w.Post(s, messagev1.Received{Text: fmt.Sprint("call c", i)}, key)
					case "look":
						w.Post(s, messagev1.Received{Text: fmt.Sprint("look c", i*i%7)}, key)
					case "stop":
						w.Post(s, messagev1.Control{Verb: messagev1.Stop}, key)
					case "kill":
						w.Kill()
					case "delete":
						w.Delete(s, turnv1.SessionDeleted{}, key)
					case "purge":
						w.Purge(s)
					case "fill":
						w.Fill(10 * time.Duration(gaps[i]) * time.Millisecond)
					case "down":
						w.Down(10 * time.Duration(gaps[i]) * time.Millisecond)
					}
				}
			},
		}
		if err := playCalls(t, k, sc); err != nil {
			rt.Fatal(err)
		}
	})
}

// TestPartsAreLeftAlone: without faults each call is claimed once and has its outcome, however its bells move between
// workers, come again, and meet the claim that another worker has in another lane of the same session. Effects run beside
// each other, unless the machine lets one wait for the others.
func TestPartsAreLeftAlone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var r running
		k := tool{takes: millis(rt, 20_000, "work ms"), alone: rapid.Bool().Draw(rt, "alone"), retry: rapid.Bool().Draw(rt, "retry")}
		n := rapid.IntRange(2, 8).Draw(rt, "calls")
		looks := rapid.SliceOfN(rapid.IntRange(0, 3000), 0, 12).Draw(rt, "looks")
		err := playCalls(t, r.watch(k), actortest.Scenario[calls]{
			Workers: rapid.IntRange(1, 3).Draw(rt, "workers"), Tape: calm(rapid.Uint64().Draw(rt, "seed"), 3000), Check: callClaims(n),
			Script: func(w *actortest.World) {
				callN(t, w, n)
				for i, gap := range looks {
					time.Sleep(time.Duration(gap) * time.Millisecond)
					w.Post(sessionID(t, 0), messagev1.Received{Text: fmt.Sprint("look c", i%n)}, fmt.Sprint("look", i))
				}
			},
		})
		if err != nil {
			rt.Fatal(err)
		}
		if k.alone && r.most != 1 || r.twins != 1 {
			rt.Fatalf("%d effects ran at a time, %d of one call", r.most, r.twins)
		}
	})
}

// TestPartsRunBesideEachOther: as many effects of a session at a time as it has parts.
func TestPartsRunBesideEachOther(t *testing.T) {
	for workers := 1; workers <= 3; workers++ {
		var r running
		err := playCalls(t, r.watch(tool{takes: 10 * time.Second}), actortest.Scenario[calls]{
			Workers: workers, Tape: calm(uint64(workers), 500), Check: callClaims(8),
			Script: func(w *actortest.World) { callN(t, w, 8) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.most != 8 {
			t.Errorf("%d workers: %d effects at a time, want 8", workers, r.most)
		}
	}
}

// TestStopEndsEffectsOfOtherParts: part "" closes the claims of the other lanes, of this worker and of others; their
// effects end at once.
func TestStopEndsEffectsOfOtherParts(t *testing.T) {
	for workers := 1; workers <= 2; workers++ {
		for seed := range uint64(40) {
			var r running
			var stopped time.Time
			err := playCalls(t, r.watch(tool{takes: 50 * time.Second, sweep: seed%2 == 0}), actortest.Scenario[calls]{
				Workers: workers, Tape: calm(seed, 1000),
				Script: func(w *actortest.World) {
					callN(t, w, 6)
					time.Sleep(2 * time.Second)
					stopped = time.Now()
					w.Post(sessionID(t, 0), messagev1.Control{Verb: messagev1.Stop}, "stop")
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if r.begun != 6 || r.last.Sub(stopped) > time.Second {
				t.Errorf("%d workers: of %d effects the last ended %s after the stop", workers, r.begun, r.last.Sub(stopped))
			}
			for _, err := range r.ends {
				if !errors.Is(err, actor.ErrWithdrawn) {
					t.Errorf("an effect ended with %v", err)
				}
			}
		}
	}
}

// TestManyEffectsEndAtOnce: the lanes of a session take turns: nobody's outcome waits for more than those before it, none
// is decided twice, and no bell is put off.
func TestManyEffectsEndAtOnce(t *testing.T) {
	const n, slow = 64, 20 * time.Millisecond
	var r running
	var until atomic.Int64
	conflicts, redelivered, stored := 0, 0, 0
	err := playCalls(t, r.watch(tool{until: &until}), actortest.Scenario[calls]{
		Check: callClaims(n),
		Script: func(w *actortest.World) {
			ends := time.Now().Add(20 * time.Second)
			until.Store(ends.UnixNano())
			callN(t, w, n)
			time.Sleep(5 * time.Second)
			w.Slow(slow)
			before := w.Conflicts()
			time.Sleep(time.Until(ends) + (n+1)*slow)
			conflicts, redelivered, stored = w.Conflicts()-before, w.Redelivered(), outcomes(t, w)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.most != n || conflicts > 0 || redelivered > 0 || stored != n {
		t.Errorf("%d effects at a time; %d conflicts, %d bells delivered again, %d stored in time", r.most, conflicts, redelivered, stored)
	}
}

// TestAStandingLaneHoldsNobodyUp: a lane that hears nothing of its append keeps the turn from the others for a moment
// only.
func TestAStandingLaneHoldsNobodyUp(t *testing.T) {
	const n = 8
	var until atomic.Int64
	stored := 0
	err := playCalls(t, tool{until: &until}, actortest.Scenario[calls]{
		Check: callClaims(n),
		Script: func(w *actortest.World) {
			until.Store(time.Now().Add(4 * time.Second).UnixNano())
			callN(t, w, n)
			time.Sleep(time.Second)
			w.HoldAck(30 * time.Second)
			time.Sleep(5 * time.Second)
			stored = outcomes(t, w)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if stored != n {
		t.Errorf("%d of %d outcomes are stored 2 s after the effects' end", stored, n)
	}
}

// outcomes counts what is stored now.
func outcomes(t *testing.T, w *actortest.World) (n int) {
	t.Helper()
	for _, e := range w.Events(sessionID(t, 0)) {
		if _, ok := e.Body.(turnv1.Completed); ok {
			n++
		}
	}
	return n
}

// TestPartsRecoverSoon: after a kill no part of a session waits for AckWait.
func TestPartsRecoverSoon(t *testing.T) {
	const n = 6
	err := playCalls(t, tool{takes: 10 * time.Second, retry: true}, actortest.Scenario[calls]{
		Script: func(w *actortest.World) {
			callN(t, w, n)
			time.Sleep(time.Second)
			w.Kill()
		},
		Check: func(s session.ID, events []envelope.Event, state calls) error {
			resumed := 0
			for _, e := range events {
				if _, ok := e.Body.(turnv1.Resumed); ok {
					resumed++
					if lost := e.Time.Sub(events[0].Time) - time.Second; lost > 2*time.Second {
						return fmt.Errorf("%s is gone on with %s after the kill", claimOf(e).Turn, lost)
					}
				}
			}
			if resumed != n {
				return fmt.Errorf("%d of %d calls were gone on with", resumed, n)
			}
			return judgeCalls(s, events, state)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPartsHandOver: workers that are asked to stop leave no lane's bells to time out.
func TestPartsHandOver(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := tool{takes: millis(rt, 15_000, "work ms"), retry: rapid.Bool().Draw(rt, "retry"), deaf: rapid.Bool().Draw(rt, "deaf")}
		n, gap := rapid.IntRange(1, 8).Draw(rt, "calls"), millis(rt, 1000, "gap")
		sc := actortest.Scenario[calls]{
			Workers: rapid.IntRange(1, 2).Draw(rt, "workers"),
			Script: func(w *actortest.World) {
				for i := range n {
					w.Post(sessionID(t, i%2), messagev1.Received{Text: fmt.Sprint("call c", i)}, fmt.Sprint("k", i))
					time.Sleep(gap)
				}
			},
		}
		for _, s := range rapid.SliceOfN(rapid.IntRange(0, 12_000), 1, 4).Draw(rt, "stops") {
			sc.Stops = append(sc.Stops, time.Duration(s)*time.Millisecond)
		}
		if err := playCalls(t, k, sc); err != nil {
			rt.Fatal(err)
		}
	})
}

// TestPartsWaitByThemselves: the one timer of a session rings part "", so that no other part may leave its waiting to it.
func TestPartsWaitByThemselves(t *testing.T) {
	for workers := 1; workers <= 2; workers++ {
		err := playCalls(t, tool{rest: 3 * time.Minute}, actortest.Scenario[calls]{
			Workers: workers, Tape: calm(1, 300), Check: callClaims(3),
			Script: func(w *actortest.World) { callN(t, w, 3) },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// dead plays one worker, and returns which bells it has given up after five minutes.
func dead(t *testing.T, m actor.Machine[calls], script func(*actortest.World)) (texts []string, events []envelope.Event) {
	t.Helper()
	_ = playCalls(t, tool{}, actortest.Scenario[calls]{ // a step is left that nobody does
		Machine: m,
		Script: func(w *actortest.World) {
			script(w)
			time.Sleep(5 * time.Minute)
			for _, e := range w.Dead() {
				texts = append(texts, e.Body.(messagev1.Received).Text)
			}
			events = w.Events(sessionID(t, 0))
		},
	})
	return texts, events
}

// TestAFailingPartIsGivenUp: that the other parts of its session succeed meanwhile does not excuse it.
func TestAFailingPartIsGivenUp(t *testing.T) {
	m := tool{takes: 10 * time.Millisecond}.machine()
	sound := m.Next
	m.Next = func(s calls, v machine.View) machine.Step {
		if v.Part == "bad" {
			return machine.Perform{Claim: 12345, Deadline: v.Now.Add(time.Minute)}
		}
		return sound(s, v)
	}
	soon := 0
	texts, events := dead(t, m, func(w *actortest.World) {
		post(t, w, "call bad")
		for i := range 200 {
			post(t, w, fmt.Sprint("call c", i))
			time.Sleep(20 * time.Millisecond)
		}
		soon = len(w.Dead())
	})
	done := 0
	for _, e := range events {
		if _, ok := e.Body.(turnv1.Completed); ok {
			done++
		}
	}
	if soon != 1 || len(texts) != 1 || texts[0] != "call bad" || done != 200 {
		t.Errorf("given up: %v, %d of them soon; %d outcomes", texts, soon, done)
	}
}

// TestAMachineThatMeetsTwoClaimsInTurn, both of owners that are gone, is given up: it would go on for ever.
func TestAMachineThatMeetsTwoClaimsInTurn(t *testing.T) {
	m := tool{}.machine()
	m.Next = func(_ calls, v machine.View) machine.Step {
		if v.Part == "" {
			return nil
		}
		held := machine.Held{Claim: 1, Worker: "ghost", Deadline: v.Now.Add(time.Minute), Attempt: 1}
		if v.Gone == held.Claim {
			held.Claim++
		}
		return held
	}
	texts, _ := dead(t, m, func(w *actortest.World) { post(t, w, "call x", "hi") })
	if len(texts) != 1 || texts[0] != "call x" {
		t.Errorf("given up: %v", texts)
	}
}

// TestAPanicIsOfTheSession: after a machine's panic in one part the session begins nothing in any other; the outcome of
// what has begun is stored.
func TestAPanicIsOfTheSession(t *testing.T) {
	for name, bad := range map[string]string{"Next": "call bad", "Part": poison + " part"} {
		t.Run(name, func(t *testing.T) {
			m := tool{takes: 3 * time.Second}.machine()
			sound := m.Next
			m.Next = func(s calls, v machine.View) machine.Step {
				if v.Part == "bad" {
					panic("a bad part")
				}
				return sound(s, v)
			}
			texts, events := dead(t, m, func(w *actortest.World) {
				post(t, w, "call early")
				time.Sleep(time.Second)
				post(t, w, bad)
				time.Sleep(time.Second)
				post(t, w, "call late")
			})
			var done []string
			for _, e := range events {
				if b, ok := e.Body.(turnv1.Completed); ok {
					done = append(done, b.Turn)
				}
			}
			if fmt.Sprint(texts) != fmt.Sprint([]string{bad, "call late"}) || fmt.Sprint(done) != "[early]" {
				t.Errorf("given up: %v; done: %v", texts, done)
			}
		})
	}
}

// TestAPanicStopsTheOtherLanes: a lane that is at work when another's machine panics begins nothing any more.
func TestAPanicStopsTheOtherLanes(t *testing.T) {
	m := tool{}.machine()
	sound := m.Next
	m.Next = func(s calls, v machine.View) machine.Step {
		if v.Part == "bad" {
			panic("a bad part")
		}
		return sound(s, v)
	}
	texts, events := dead(t, m, func(w *actortest.World) {
		w.Slow(2 * time.Second) // what comes meanwhile makes the append a conflict
		post(t, w, "call c0")
		time.Sleep(time.Second)
		post(t, w, "call bad")
	})
	claims := 0
	for _, e := range events {
		if claimOf(e).Turn != "" {
			claims++
		}
	}
	if fmt.Sprint(texts) != fmt.Sprint([]string{"call bad", "call c0"}) || claims != 0 {
		t.Errorf("given up: %v; %d claims", texts, claims)
	}
}
