package turn_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// drawOutcome is what becomes of the claim that is open in s.
func drawOutcome(t *rapid.T, s turn.State) envelope.Body {
	usage := turnv1.Usage{Input: 10, Output: 1, Cost: 10, Priced: rapid.IntRange(0, 3).Draw(t, "priced") > 0}
	if c := s.Compaction; c != nil {
		if rapid.IntRange(0, 2).Draw(t, "summary") == 0 {
			return turnv1.CompactionFailed{Compaction: c.ID, Attempt: c.Claim.Attempt, By: c.By, Model: "a/b", Usage: usage, Cause: turnv1.ModelGarbage, Text: "no"}
		}
		return turnv1.SessionCompacted{
			Compaction: c.ID, Attempt: c.Claim.Attempt, By: c.By, Through: c.Through, Turns: 1, Summary: "much", Model: "a/b", Usage: usage, Text: "done",
		}
	}
	c := s.Turn
	o := turnv1.Outcome{Turn: c.ID, Round: c.Claim.Round, Attempt: c.Claim.Attempt, Model: "a/b", Usage: usage}
	switch rapid.IntRange(0, 5).Draw(t, "outcome") {
	case 0:
		return turnv1.Failed{Outcome: o, Answers: c.Messages, Cause: turnv1.ModelUnavailable, Text: "sorry"}
	case 1, 2:
		return turnv1.Completed{Outcome: o, Answers: c.Messages, Text: "answer"}
	case 3:
		return turnv1.Overflowed{Outcome: o}
	}
	b := turnv1.Stepped{Outcome: o}
	for i := range rapid.IntRange(1, 3).Draw(t, "calls") {
		call := turnv1.Call{ID: fmt.Sprintf("r%d.%d", c.Claim.Round, i), Tool: "x", Arguments: json.RawMessage(`{}`)}
		switch rapid.IntRange(0, 3).Draw(t, "refused") {
		case 0:
			call.Refusal = "no"
		case 1:
			call.Answer = "a skill"
		}
		b.Calls = append(b.Calls, call)
	}
	return b
}

// audit is a reader of the whole journal.
type audit struct {
	t       *rapid.T
	w       *world
	state   turn.State
	arrived map[string]uint64 // cursors of messages and commands
	open    []string          // of those, not answered yet
	closed  map[string]string
	listed  map[string][]string // messages of each turn's claims
	stops   []envelope.Event    // not answered yet
	answers []int               // places in said of the messages that were completed or failed, in the order of that
}

// check refolds the journal.
func (w *world) check(t *rapid.T) *audit {
	a := &audit{t: t, w: w, arrived: map[string]uint64{}, closed: map[string]string{}, listed: map[string][]string{}}
	for _, ev := range w.journal {
		before := a.state
		a.state = before.Apply(ev)
		a.event(ev, before)
	}
	if !slices.IsSorted(a.answers) {
		t.Fatalf("answered in the order %v", a.answers)
	}
	inbox := slices.DeleteFunc(slices.Concat(w.said, w.asked), func(id string) bool { return a.arrived[id] == 0 })
	slices.SortFunc(inbox, func(x, y string) int { return int(a.arrived[x]) - int(a.arrived[y]) })
	checkState(t, a.state, inbox)
	for _, k := range w.workers { // a fold that is taken in pieces is the same fold
		if k.seen == len(w.journal) && compact(k.state) != compact(a.state) {
			t.Fatalf("%s folded\n%s\nthe journal says\n%s", k.name, compact(k.state), compact(a.state))
		}
	}
	return a
}

func (a *audit) event(ev envelope.Event, before turn.State) {
	switch b := ev.Body.(type) {
	case messagev1.Received:
		a.arrive(ev)
	case messagev1.Control:
		if a.arrive(ev) && b.Verb == messagev1.Stop {
			a.stops = append(a.stops, ev)
		}
	case turnv1.Started:
		if before.Turn != nil || before.Compaction != nil && before.Compaction.By != "" || a.listed[b.Turn] != nil {
			a.t.Fatalf("turn %s starts in %s", b.Turn, compact(before))
		}
		a.listed[b.Turn] = b.Messages
	case turnv1.Continued:
		a.listed[b.Turn] = b.Messages
	case turnv1.Completed:
		a.close(ev, b.Answers, a.listed[b.Turn])
		a.inOrder(b.Answers)
	case turnv1.Failed:
		a.close(ev, b.Answers, a.listed[b.Turn])
		a.inOrder(b.Answers)
	case turnv1.Cancelled:
		a.cancelled(ev, b, before)
	case noticev1.Posted:
		a.close(ev, b.Answers, b.Answers)
		if before.Stop != nil && slices.Contains(b.Answers, before.Stop.ID) {
			a.stopped(before)
		}
	case turnv1.SessionConfigured:
		a.close(ev, []string{b.By}, a.open)
	case turnv1.SessionReset:
		a.close(ev, []string{b.By}, a.open)
	case turnv1.SessionCompacted:
		a.commanded(ev, b.By)
	case turnv1.CompactionFailed:
		a.commanded(ev, b.By)
	case turnv1.SessionDeleted:
		a.open, a.stops = nil, nil // nobody is left to be told
	}
}

// arrive says whether it is news.
func (a *audit) arrive(ev envelope.Event) bool {
	if "k"+ev.ID != ev.Key {
		return false
	}
	a.arrived[ev.ID] = ev.Cursor
	a.open = append(a.open, ev.ID)
	return true
}

func (a *audit) commanded(ev envelope.Event, by string) {
	if by != "" {
		a.close(ev, []string{by}, a.open)
	}
}

// close notes answers, of which each must be among those allowed, and the only one.
func (a *audit) close(ev envelope.Event, ids, allowed []string) {
	for _, id := range ids {
		if was, ok := a.closed[id]; ok {
			a.t.Fatalf("%s has two answers: %s and %s", id, was, ev.Kind())
		}
		if !slices.Contains(allowed, id) || !slices.Contains(a.open, id) {
			a.t.Fatalf("%s answers %s, which was not asked, or not shown: %v of %v", ev.Kind(), id, allowed, a.open)
		}
		a.closed[id] = ev.Kind()
		a.open = slices.DeleteFunc(slices.Clone(a.open), func(o string) bool { return o == id })
	}
}

func (a *audit) inOrder(answers []string) {
	for _, id := range answers {
		a.answers = append(a.answers, slices.Index(a.w.said, id))
	}
}

func (a *audit) cancelled(ev envelope.Event, b turnv1.Cancelled, before turn.State) {
	a.close(ev, b.Answers, a.open)
	switch b.Reason {
	case turnv1.Stopped:
		last := a.stops[len(a.stops)-1]
		for _, id := range b.Answers {
			if a.arrived[id] > last.Cursor {
				a.t.Fatalf("%s came after stop %s", id, last.ID)
			}
		}
		a.close(ev, []string{b.By}, a.open)
		a.stopped(before)
	case turnv1.Interrupted:
		if b.Turn != before.Turn.ID || !slices.Equal(b.Answers, before.Turn.Messages) || !slices.Contains(a.open, b.By) {
			a.t.Fatalf("%s interrupts %s", compact(b), compact(before))
		}
	case turnv1.QueueFull:
		waiting := 0
		for _, id := range a.open {
			if slices.Contains(a.w.said, id) && (before.Turn == nil || !slices.Contains(before.Turn.Messages, id)) {
				waiting++
			}
		}
		if most := a.w.rules.Queue.Cap; waiting > most+1 || before.Turn != nil && waiting != most {
			a.t.Fatalf("%d still wait where %d may", waiting, most)
		}
		if before.Turn != nil && slices.ContainsFunc(b.Answers, func(id string) bool { return slices.Contains(before.Turn.Messages, id) }) {
			a.t.Fatalf("%s is not waiting", compact(b))
		}
	}
}

// stopped: the stop of before was carried out; what was there at its cursor, or at that of one that came meanwhile, is no more.
func (a *audit) stopped(before turn.State) {
	for _, st := range a.stops {
		for _, it := range a.state.Inbox {
			if it.Verb == "" && a.arrived[it.ID] < st.Cursor {
				a.t.Fatalf("%s outlives stop %s", it.ID, st.ID)
			}
		}
	}
	if before.Turn != nil && a.state.Turn != nil && a.arrived[before.Turn.Messages[0]] < a.arrived[before.Stop.ID] {
		a.t.Fatalf("turn %s outlives stop %s", before.Turn.ID, before.Stop.ID)
	}
	if before.Compaction != nil && before.Turn == nil && before.Compaction.Claim.Cursor < a.arrived[before.Stop.ID] {
		a.t.Fatalf("compaction %s outlives stop %s", before.Compaction.ID, before.Stop.ID)
	}
	a.stops = nil
}

// settle has no faults: one worker, all others gone, every open call gets its result, and the clock moves while it waits.
func (w *world) settle(t *rapid.T) {
	k := &worker{name: "last"}
	for steps := 0; ; steps++ {
		if steps > 200+60*(len(w.said)+len(w.asked)) {
			t.Fatalf("no end: %s", compact(k.state))
		}
		w.load(k)
		claim, _ := open(k.state)
		step := w.step(t, k, k.mine != claim)
		if wait, ok := step.(machine.Wait); ok {
			if w.now = wait.Until; k.state.Next(machine.View{Now: w.now, Worker: k.name}, w.rules) == machine.Step(wait) {
				t.Fatalf("a wait that does not end: %s", compact(k.state))
			}
		}
		if _, ok := step.(machine.Held); ok {
			t.Fatalf("held by nobody: %s", compact(k.state))
		}
		if step != nil {
			continue
		}
		calls := k.state.OpenCalls()
		if len(calls) == 0 {
			break
		}
		w.add(envelope.Event{Body: callv1.Completed{Turn: k.state.Turn.ID, Call: calls[0], Outcome: callv1.OK}})
	}
	a := w.check(t)
	s := k.state
	if len(a.open) > 0 || s.Turn != nil || s.Compaction != nil || s.Stop != nil || len(s.Orders)+len(s.Inbox) > 0 {
		t.Fatalf("left over: %v, state %s", a.open, compact(s))
	}
}
