package turn_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// TestAnyHistory folds events in orders that no journal would ever hold.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s turn.State
		r := drawRules(t)
		var arrived, left []string // messages and commands of the inbox, by their first arrival; those that left it
		for i := range rapid.IntRange(1, 80).Draw(t, "length") {
			ev := envelope.Event{
				ID: fmt.Sprintf("e%d", i), Cursor: uint64(i + 1), Time: epoch.Add(time.Duration(i) * time.Second), Body: drawer{t, s}.body(),
			}
			if _, ok := ev.Body.(messagev1.Received); ok {
				ev.ID = drawer{t, s}.message()
				ev.Key = "k" + ev.ID
			}
			before, beforeText := clone(t, s), compact(s)
			next := s.Apply(ev)
			nextText := compact(next)
			s.Apply(envelope.Event{ID: "branch", Cursor: ev.Cursor, Time: ev.Time, Body: drawer{t, s}.body()})
			if compact(s) != beforeText || !reflect.DeepEqual(s, before) {
				t.Fatalf("Apply wrote through:\n%s\n%s", beforeText, compact(s))
			}
			if compact(next) != nextText {
				t.Fatalf("another branch changed this one:\n%s\n%s", nextText, compact(next))
			}
			for _, it := range next.Inbox {
				if slices.Contains(left, it.ID) {
					t.Fatalf("%s is in the inbox again", it.ID)
				}
				if !slices.Contains(arrived, it.ID) {
					arrived = append(arrived, it.ID)
				}
			}
			for _, it := range s.Inbox {
				if !slices.ContainsFunc(next.Inbox, func(n turn.Item) bool { return n.ID == it.ID }) {
					left = append(left, it.ID)
				}
			}
			if _, ok := ev.Body.(turnv1.SessionDeleted); ok {
				arrived, left = nil, nil // whatever comes is new
			} else {
				checkUntouched(t, s, ev, next)
			}
			s = next
			checkState(t, s, arrived)
			checkNext(t, s, r, ev)
		}
	})
}

// checkNext asks everybody who may ask: nobody panics, nothing is written through, only the owner performs.
func checkNext(t *rapid.T, s turn.State, r turn.Rules, last envelope.Event) {
	before := compact(s)
	for _, v := range []machine.View{
		{Now: last.Time, Worker: "w9"},
		{Now: last.Time, Worker: "w9", Mine: last.Cursor},
		{Now: last.Time, Worker: "w9", Gone: last.Cursor},
		{Now: last.Time.Add(24 * time.Hour), Worker: "w9"},
		{},
	} {
		switch step := s.Next(v, r).(type) {
		case machine.Append:
			if step.Body == nil || step.Cause == "" {
				t.Fatalf("an append without a body or a cause: %+v of %s", step, compact(s))
			}
			if step.Claim && step.Beside {
				t.Fatalf("a claim beside a claim: %s", compact(step))
			}
		case machine.Perform:
			if step.Claim != v.Mine {
				t.Fatalf("asked to perform claim %d, mine is %d", step.Claim, v.Mine)
			}
		case machine.Held, machine.Wait, nil:
		}
	}
	if compact(s) != before {
		t.Fatalf("Next wrote through:\n%s\n%s", before, compact(s))
	}
}

// checkUntouched: orders and what waits are taken away only by what answers them.
func checkUntouched(t *rapid.T, s turn.State, ev envelope.Event, next turn.State) {
	var names []string
	switch b := ev.Body.(type) {
	case turnv1.Completed:
		names = b.Answers
	case turnv1.Failed:
		names = b.Answers
	case turnv1.Cancelled:
		names = append(slices.Clone(b.Answers), b.By)
	case turnv1.SessionReset:
		names = []string{b.By}
	case turnv1.SessionCompacted:
		names = []string{b.By}
	case turnv1.CompactionFailed:
		names = []string{b.By}
	case turnv1.SessionConfigured:
		names = []string{b.By}
	case noticev1.Posted:
		names = b.Answers
	}
	for _, o := range s.Orders {
		if !slices.Contains(next.Orders, o) && !slices.Contains(names, o.ID) {
			t.Fatalf("%s takes order %s away", compact(ev.Body), o.ID)
		}
	}
	for _, it := range s.Inbox {
		if !slices.ContainsFunc(next.Inbox, func(n turn.Item) bool { return n.ID == it.ID }) && !slices.Contains(names, it.ID) {
			t.Fatalf("%s takes %s away", compact(ev.Body), it.ID)
		}
	}
}

// checkState holds for every fold.
func checkState(t *rapid.T, s turn.State, arrived []string) {
	last := -1
	for _, it := range s.Inbox {
		at := slices.Index(arrived, it.ID)
		if at <= last {
			t.Fatalf("inbox %s is not in the order of arrival %v", compact(s.Inbox), arrived)
		}
		last = at
	}
	if got := clone(t, s); !reflect.DeepEqual(got, s) {
		t.Fatalf("a snapshot changes the state:\n%s\n%s", compact(s), compact(got))
	}
	bytes := 0
	for _, x := range s.Past {
		bytes += x.Bytes
		for _, e := range x.Entries {
			for _, c := range e.Calls {
				if !c.Done {
					t.Fatalf("finished turn %s has call %s without a result", x.Turn, c.ID)
				}
			}
		}
	}
	switch c := s.Compaction; {
	case s.Bytes != bytes:
		t.Fatalf("%d bytes are said to be %d", bytes, s.Bytes)
	case s.Bytes > turn.Kept && len(s.Past) > 1:
		t.Fatalf("%d bytes are kept", s.Bytes)
	case len(s.Seen) > 64:
		t.Fatalf("%d facts are kept", len(s.Seen))
	case c != nil && !slices.ContainsFunc(s.Past, func(x turn.Exchange) bool { return x.Turn == c.Through }):
		t.Fatalf("a compaction of nothing: %s", compact(s))
	case c != nil && s.Turn != nil && s.Turn.Open:
		t.Fatalf("two claims are open: %s", compact(s))
	case s.Usage.Cost < 0 || s.Usage.Tokens() < 0 || s.Usage.Unpriced < 0:
		t.Fatalf("usage %s", compact(s.Usage))
	}
	if s.Turn != nil {
		checkPairs(t, s.Turn)
	}
}

// checkPairs: only the last thing said has calls without results.
func checkPairs(t *rapid.T, r *turn.Turn) {
	for i, e := range r.Entries {
		for _, c := range e.Calls {
			if !c.Done && (i < len(r.Entries)-1 || r.Open) {
				t.Fatalf("call %s is open behind what came later: %s", c.ID, compact(r))
			}
		}
	}
}

// clone is what a snapshot gives back.
func clone(t *rapid.T, s turn.State) turn.State {
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var c turn.State
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// drawRules draws rules in which everything happens early.
func drawRules(t *rapid.T) turn.Rules {
	r := turn.DefaultRules()
	r.Limits.Attempts, r.Limits.Rounds = 3, 3
	r.Queue = turn.Queue{
		Mode: rapid.SampledFrom(turn.Modes()).Draw(t, "mode"), Cap: rapid.IntRange(0, 3).Draw(t, "cap"),
		Full:     rapid.SampledFrom([]turn.Full{turn.DropNewest, turn.DropOldest}).Draw(t, "full"),
		Debounce: time.Duration(rapid.IntRange(0, 3).Draw(t, "debounce")) * time.Second,
	}
	r.Budget = turn.Budget{Tokens: rapid.SampledFrom([]int{0, 0, 25}).Draw(t, "tokens"), Cost: rapid.SampledFrom([]int64{0, 0, 25}).Draw(t, "cost")}
	r.Compact.Due = rapid.SampledFrom([]int{0, 100, 300}).Draw(t, "due")
	r.Compact.Keep = r.Compact.Due / rapid.IntRange(1, 4).Draw(t, "part")
	r.Model, r.Models, r.Providers = "a/b", []string{"a/b", "a/c", "d/c"}, []string{"a", "d"}
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	return r
}

// A hostile usage makes no reader fail.
func TestHostileUsage(t *testing.T) {
	var s turn.State
	for _, m := range []string{"m1", "m2", "m3"} {
		s = s.Apply(envelope.Event{ID: m, Body: said})
		s = s.Apply(envelope.Event{ID: "s" + m, Body: turnv1.Started{Claim: claim(m, 1, 1)}})
		s = s.Apply(envelope.Event{ID: "c" + m, Body: turnv1.Completed{Answers: []string{m}, Outcome: turnv1.Outcome{
			Turn: m + "/t", Round: 1, Attempt: 1, Model: "a/b", Usage: turnv1.Usage{Cost: math.MaxInt64, Priced: true},
		}}})
	}
	s = s.Apply(envelope.Event{ID: "status", Body: control(messagev1.Status)})
	if _, ok := s.Next(machine.View{}, turn.DefaultRules()).(machine.Append); !ok {
		t.Error("no status")
	}
}
