package turn_test

import (
	"encoding/json"
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
	limits  turn.Limits
	now     time.Time
	journal []envelope.Event
	workers []*worker
	said    []string // messages and "new" controls as they arrived, without repeats
	closed  map[string]string
}

type worker struct {
	name  string
	state turn.State
	seen  int // events folded
	mine  *turn.Turn
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

// step lets worker k do one thing as the shell would. It returns false when the machine is quiescent or held.
func (w *world) step(t *rapid.T, k *worker, gone bool, outcome func(turn.Turn) envelope.Body) bool {
	v := machine.View{Now: w.now, Worker: k.name}
	if k.mine != nil {
		v.Mine = k.mine.Claim.Cursor
	}
	if gone && k.state.Turn != nil {
		v.Gone = k.state.Turn.Claim.Cursor
	}
	switch step := k.state.Next(v, w.limits).(type) {
	case machine.Append:
		if step.Cause == "" {
			t.Fatalf("%s has no cause", step.Body.EventType())
		}
		if w.commit(k, step.Body, step.Cause) && step.Claim {
			k.mine = k.state.Turn
			if c := k.state.Turn.Claim; c.Cursor != uint64(len(w.journal)) || c.Worker != k.name {
				t.Fatalf("the claim just appended is not the open one: %s", compact(k.state))
			}
		}
		return true
	case machine.Perform:
		if step.Claim != v.Mine {
			t.Fatalf("asked to perform claim %d, mine is %d", step.Claim, v.Mine)
		}
		w.commit(k, outcome(*k.mine), "x")
		return true
	case machine.Held:
		if step.Claim == v.Gone || step.Deadline.Before(w.now) {
			t.Fatalf("held by somebody who is gone: %+v at %s", step, w.now)
		}
	}
	return false
}

// TestWorkers drives the machine through random histories that a journal can hold, then lets one worker finish
// alone: every message must have got exactly one outcome, in order, and nothing may be left.
func TestWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := turn.DefaultLimits()
		l.Attempts, l.Rounds = 3, 3
		w := &world{limits: l, now: epoch, closed: map[string]string{}}
		for i := range 3 {
			w.workers = append(w.workers, &worker{name: fmt.Sprintf("w%d", i)})
		}
		one := func() *worker { return rapid.SampledFrom(w.workers).Draw(t, "worker") }
		t.Repeat(map[string]func(*rapid.T){
			"say": func(t *rapid.T) {
				id := fmt.Sprintf("m%d", len(w.said))
				w.said = append(w.said, id)
				w.add(envelope.Event{ID: id, Key: "k" + id, Body: messagev1.Received{Text: id}})
			},
			"again": func(t *rapid.T) { // intake's guard failed: the same fact is stored twice
				recent := slices.DeleteFunc(slices.Clone(w.journal[max(0, len(w.journal)-50):]), func(ev envelope.Event) bool {
					return "k"+ev.ID != ev.Key // not a first one
				})
				if len(recent) > 0 {
					ev := rapid.SampledFrom(recent).Draw(t, "again")
					w.add(envelope.Event{Key: ev.Key, Body: ev.Body})
				}
			},
			"new": func(t *rapid.T) {
				id := fmt.Sprintf("n%d", len(w.said))
				w.said = append(w.said, id)
				w.add(envelope.Event{ID: id, Key: "k" + id, Body: messagev1.Control{Verb: messagev1.New}})
			},
			"stop":  func(t *rapid.T) { w.add(envelope.Event{Body: messagev1.Control{Verb: messagev1.Stop}}) },
			"load":  func(t *rapid.T) { w.load(one()) },
			"crash": func(t *rapid.T) { one().mine = nil },
			"forget": func(t *rapid.T) {
				k := one()
				*k = worker{name: k.name}
			},
			"clock": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 200).Draw(t, "seconds")) * time.Second)
			},
			"work": func(t *rapid.T) {
				w.step(t, one(), rapid.IntRange(0, 4).Draw(t, "gone") == 0, func(c turn.Turn) envelope.Body { return drawOutcome(t, c) })
			},
			"result": func(t *rapid.T) {
				var s turn.State
				for _, ev := range w.journal {
					s = s.Apply(ev)
				}
				if open := s.OpenCalls(); len(open) > 0 {
					w.add(envelope.Event{Body: callv1.Completed{
						Turn: s.Turn.ID, Call: rapid.SampledFrom(open).Draw(t, "call"), Outcome: callv1.OK, Content: "fine",
					}})
				}
			},
			"": func(t *rapid.T) { w.check(t) },
		})
		w.settle(t)
	})
}

func drawOutcome(t *rapid.T, c turn.Turn) envelope.Body {
	o := turnv1.Outcome{Turn: c.ID, Round: c.Claim.Round, Attempt: c.Claim.Attempt}
	switch rapid.IntRange(0, 3).Draw(t, "outcome") {
	case 0:
		return turnv1.Failed{Outcome: o, Answers: c.Messages, Cause: turnv1.ModelUnavailable, Text: "sorry"}
	case 1:
		return turnv1.Completed{Outcome: o, Answers: c.Messages, Text: "answer"}
	}
	b := turnv1.Stepped{Outcome: o}
	for i := range rapid.IntRange(1, 3).Draw(t, "calls") {
		call := turnv1.Call{ID: fmt.Sprintf("r%d.%d", c.Claim.Round, i), Tool: "x", Arguments: json.RawMessage(`{}`)}
		if rapid.Bool().Draw(t, "refused") {
			call.Refusal = "no"
		}
		b.Calls = append(b.Calls, call)
	}
	return b
}

// check refolds the journal and counts outcomes.
func (w *world) check(t *rapid.T) {
	var s turn.State
	var order []string
	clear(w.closed)
	for _, ev := range w.journal {
		before := s
		s = s.Apply(ev)
		var answered []string
		switch b := ev.Body.(type) {
		case turnv1.Completed:
			answered = b.Answers
		case turnv1.Failed:
			answered = b.Answers
		case turnv1.Cancelled:
			answered = b.Answers
		case turnv1.SessionReset:
			answered = []string{b.By}
		case turnv1.Started:
			if before.Turn != nil {
				t.Fatalf("turn %s starts while %s runs", b.Turn, before.Turn.ID)
			}
		}
		for _, id := range answered {
			if was, ok := w.closed[id]; ok {
				t.Fatalf("%s has two outcomes: %s and %s", id, was, ev.Kind())
			}
			w.closed[id] = ev.Kind()
			order = append(order, id)
		}
	}
	if !slices.Equal(order, w.said[:len(order)]) {
		t.Fatalf("answered %v, said %v", order, w.said)
	}
	checkState(t, s, w.said)
	for _, k := range w.workers { // a fold that is taken in pieces is the same fold
		if k.seen == len(w.journal) && compact(k.state) != compact(s) {
			t.Fatalf("%s folded\n%s\nthe journal says\n%s", k.name, compact(k.state), compact(s))
		}
	}
}

// settle has no faults: one worker, all others gone, every open call gets its result.
func (w *world) settle(t *rapid.T) {
	k := &worker{name: "last"}
	for range 100 + 40*len(w.said) {
		w.load(k)
		if open := k.state.OpenCalls(); len(open) > 0 && k.state.Turn.Stop == "" {
			w.add(envelope.Event{Body: callv1.Completed{Turn: k.state.Turn.ID, Call: open[0], Outcome: callv1.OK}})
			continue
		}
		if !w.step(t, k, k.mine == nil, func(c turn.Turn) envelope.Body {
			return turnv1.Completed{
				Outcome: turnv1.Outcome{Turn: c.ID, Round: c.Claim.Round, Attempt: c.Claim.Attempt}, Answers: c.Messages, Text: "answer",
			}
		}) {
			break
		}
	}
	w.check(t)
	if len(w.closed) != len(w.said) || k.state.Turn != nil || len(k.state.Inbox) > 0 {
		t.Fatalf("left over: %d of %d answered, state %s", len(w.closed), len(w.said), compact(k.state))
	}
}
