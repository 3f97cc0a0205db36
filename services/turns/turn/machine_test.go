package turn_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// world is a session as several workers work on it: one journal with compare-and-set, and in each worker a fold that may
// be old. A worker may be cut off and go on (zombie), crash, or be declared gone while it lives.
type world struct {
	rules     turn.Rules
	now       time.Time
	journal   []envelope.Event
	workers   []*worker
	said      []string // messages as they arrived, without repeats
	asked     []string // commands likewise
	performed map[uint64]string
}

type worker struct {
	name  string
	state turn.State
	seen  int    // events folded
	mine  uint64 // the claim that it appended, until its outcome is stored
}

func (w *world) load(k *worker) {
	for _, ev := range w.journal[k.seen:] {
		k.state = k.state.Apply(ev)
	}
	k.seen = len(w.journal)
}

// commit is the compare-and-set: a worker that has not seen the last event loses.
func (w *world) commit(k *worker, body envelope.Body, cause string) bool {
	if k.seen != len(w.journal) {
		return false
	}
	w.add(envelope.Event{Body: body, Cause: cause})
	w.load(k)
	return true
}

func (w *world) add(ev envelope.Event) {
	ev.Cursor, ev.Time = uint64(len(w.journal)+1), w.now
	if ev.ID == "" {
		ev.ID = fmt.Sprintf("e%d", ev.Cursor)
	}
	w.journal = append(w.journal, ev)
}

// open is the claim that is open in s, and its owner.
func open(s turn.State) (claim uint64, owner string) {
	switch {
	case s.Compaction != nil:
		return s.Compaction.Claim.Cursor, s.Compaction.Claim.Worker
	case s.Turn != nil && s.Turn.Open:
		return s.Turn.Claim.Cursor, s.Turn.Claim.Worker
	}
	return 0, ""
}

// step lets worker k do one thing as the shell would, and returns what that was.
func (w *world) step(t *rapid.T, k *worker, gone bool) machine.Step {
	claim, owner := open(k.state)
	v := machine.View{Now: w.now, Worker: k.name, Mine: k.mine}
	if gone {
		v.Gone = claim
	}
	step := k.state.Next(v, w.rules)
	switch step := step.(type) {
	case machine.Append:
		if step.Cause == "" {
			t.Fatalf("%s has no cause", step.Body.EventType())
		}
		if w.commit(k, step.Body, step.Cause) {
			w.appended(t, k, step, claim, owner)
		}
	case machine.Perform:
		if step.Claim != v.Mine || step.Claim != claim {
			t.Fatalf("asked to perform claim %d, mine is %d, open is %d", step.Claim, v.Mine, claim)
		}
		if by, ok := w.performed[claim]; ok && by != k.name {
			t.Fatalf("claim %d is performed by %s and %s", claim, by, k.name)
		}
		w.performed[claim] = k.name
		if w.commit(k, drawOutcome(t, k.state), "x") {
			k.mine = 0
		}
	case machine.Held:
		if step.Claim == v.Gone || step.Claim == v.Mine {
			t.Fatalf("held by somebody who is gone: %+v at %s", step, w.now)
		}
	case machine.Wait:
		if !step.Until.After(w.now) || step.Until.Sub(w.now) > time.Minute {
			t.Fatalf("a wait from %s until %s", w.now, step.Until)
		}
	}
	return step
}

// appended checks what a step says of the event that it asked for.
func (w *world) appended(t *rapid.T, k *worker, step machine.Append, before uint64, owner string) {
	after, by := open(k.state)
	switch {
	case step.Claim && (after != uint64(len(w.journal)) || by != k.name):
		t.Fatalf("the claim just appended is not the open one: %s", compact(k.state))
	case !step.Claim && after != before && after != 0:
		t.Fatalf("%s has claimed something, unannounced", step.Body.EventType())
	case step.Beside && after != before:
		t.Fatalf("%s is not beside claim %d", step.Body.EventType(), before)
	case !step.Beside && after == before && before != 0:
		t.Fatalf("%s leaves claim %d alone, and ends the effect", step.Body.EventType(), before)
	}
	if step.Claim {
		k.mine = after
	}
	taken := false
	switch b := step.Body.(type) {
	case turnv1.Resumed:
		taken = true
	case turnv1.CompactionStarted:
		taken = b.Attempt > 1
	}
	if before != 0 && after != before && !taken && step.Tell != owner {
		t.Fatalf("%s closes the claim of %q and tells %q", step.Body.EventType(), owner, step.Tell)
	}
}

// TestWorkers drives the machine through random histories that a journal can hold, then lets one worker finish
// alone: every message must have got exactly one outcome and every command one answer, and nothing may be left.
func TestWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{rules: drawRules(t), now: epoch, performed: map[uint64]string{}}
		for i := range 3 {
			w.workers = append(w.workers, &worker{name: fmt.Sprintf("w%d", i)})
		}
		one := func() *worker { return rapid.SampledFrom(w.workers).Draw(t, "worker") }
		work := func(t *rapid.T) { w.step(t, one(), rapid.IntRange(0, 4).Draw(t, "gone") == 0) }
		fresh := func(t *rapid.T) { // as the shell: it folds the news first
			k := one()
			w.load(k)
			for range rapid.IntRange(1, 6).Draw(t, "steps") {
				w.step(t, k, rapid.IntRange(0, 4).Draw(t, "gone") == 0)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"say":    w.say,
			"chat":   w.say, // more often than the rest
			"again":  w.again,
			"ask":    w.ask,
			"edit":   w.edit,
			"load":   func(*rapid.T) { w.load(one()) },
			"crash":  func(*rapid.T) { one().mine = 0 },
			"forget": func(*rapid.T) { k := one(); *k = worker{name: k.name} },
			"clock": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{1, 2, 100, 200}).Draw(t, "seconds")) * time.Second)
			},
			"work":   work,
			"fresh":  fresh,
			"fresh2": fresh,
			"delete": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "rarely") == 0 {
					w.add(envelope.Event{Body: turnv1.SessionDeleted{By: "cli"}})
				}
			},
			"result": func(t *rapid.T) {
				if s := w.fold(); len(s.OpenCalls()) > 0 {
					w.add(envelope.Event{Body: callv1.Completed{
						Turn: s.Turn.ID, Call: rapid.SampledFrom(s.OpenCalls()).Draw(t, "call"), Outcome: callv1.OK, Content: "fine",
					}})
				}
			},
			"": func(t *rapid.T) { w.check(t) },
		})
		w.settle(t)
	})
}

func (w *world) fold() turn.State {
	var s turn.State
	for _, ev := range w.journal {
		s = s.Apply(ev)
	}
	return s
}

func (w *world) say(*rapid.T) {
	id := fmt.Sprintf("m%d", len(w.said))
	w.said = append(w.said, id)
	w.add(envelope.Event{ID: id, Key: "k" + id, Body: messagev1.Received{Text: "what about " + id}})
}

func (w *world) ask(t *rapid.T) {
	id := fmt.Sprintf("c%d", len(w.asked))
	w.asked = append(w.asked, id)
	b := messagev1.Control{Verb: rapid.SampledFrom([]messagev1.Verb{
		messagev1.Stop, messagev1.Stop, messagev1.New, messagev1.Compact, messagev1.Model, messagev1.Queue, messagev1.Status,
	}).Draw(t, "verb")}
	switch b.Verb {
	case messagev1.New:
		b.Argument = rapid.SampledFrom([]string{"", "keep"}).Draw(t, "keep")
	case messagev1.Model:
		b.Argument = rapid.SampledFrom([]string{"", "default", "a/b", "c", "e"}).Draw(t, "model")
	case messagev1.Queue:
		b.Argument = rapid.SampledFrom([]string{"", "default", "followup", "collect", "steer", "interrupt", "odd"}).Draw(t, "queue")
	case messagev1.Stop, messagev1.Compact, messagev1.Status:
	}
	w.add(envelope.Event{ID: id, Key: "k" + id, Body: b})
}

// again: intake's guard failed, the same fact is stored twice.
func (w *world) again(t *rapid.T) {
	from := max(0, len(w.journal)-50)
	for i, ev := range w.journal {
		if _, ok := ev.Body.(turnv1.SessionDeleted); ok {
			from = max(from, i) // only a new message may follow
		}
	}
	recent := slices.DeleteFunc(slices.Clone(w.journal[from:]), func(ev envelope.Event) bool { return "k"+ev.ID != ev.Key })
	if len(recent) > 0 {
		ev := rapid.SampledFrom(recent).Draw(t, "again")
		w.add(envelope.Event{Key: ev.Key, Body: ev.Body})
	}
}

func (w *world) edit(t *rapid.T) {
	if len(w.said) > 0 {
		w.add(envelope.Event{Body: messagev1.Edited{Message: rapid.SampledFrom(w.said).Draw(t, "edited"), Text: "rather this"}})
	}
}
