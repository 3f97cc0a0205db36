package turn_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

const (
	origin = "main.http.a.origin"
	forkID = "main.terminal.local.fork"
)

// pastOf are bodies as the events of a session, numbered as fold does it.
func pastOf(bodies ...envelope.Body) []envelope.Event {
	var events []envelope.Event
	messages := 0
	for i, b := range bodies {
		ev := envelope.Event{
			ID: fmt.Sprintf("e%d", i+1), Session: origin, Cursor: uint64(i + 1), Prev: uint64(i), Time: epoch.Add(time.Duration(i) * time.Second).UTC(), Body: b,
		}
		if _, ok := b.(messagev1.Received); ok {
			messages++
			ev.ID = fmt.Sprintf("m%d", messages)
		}
		events = append(events, ev)
	}
	return events
}

// forkOf is the first event of a fork with a past.
func forkOf(t require, past []envelope.Event, b turnv1.Forked) envelope.Event {
	t.Helper()
	b.From, b.By = origin, "cli"
	for _, ev := range past {
		line, err := envelope.LineOf(ev)
		if err != nil {
			t.Fatal(err)
		}
		b.At, b.Events = ev.Cursor, append(b.Events, json.RawMessage(line))
	}
	return envelope.Event{ID: "f", Session: forkID, Cursor: 1000, Time: epoch.Add(time.Hour).UTC(), Body: b}
}

// require is a test of either kind.
type require interface {
	Helper()
	Fatal(args ...any)
}

// nextOf names the step of a state, for somebody who comes by.
func nextOf(s turn.State) string {
	r := turn.DefaultRules()
	r.Model, r.Models, r.Providers = "a/b", []string{"a/b"}, []string{"a"}
	switch step := s.Next(machine.View{Now: epoch.Add(2 * time.Hour), Worker: "w9"}, r).(type) {
	case machine.Append:
		return strings.TrimSpace(step.Body.EventType() + " " + step.Cause)
	case nil:
		return "nothing"
	default:
		return fmt.Sprintf("%T", step)
	}
}

// TestFork: what was under way is settled, and goes on here.
func TestFork(t *testing.T) {
	const goesOn = "turn.continued.v1 f"
	parked := callv1.Awaiting{Request: callv1.Request{Turn: "m1/t", Call: "c1"}}
	for _, c := range []struct {
		name  string
		past  []envelope.Body
		next  string
		inbox int
		turns int
		check func(turn.State) bool
	}{
		{name: "an answered message", past: answered("m1"), next: "nothing", turns: 1},
		{name: "a message waits", past: bodies(said), next: "turn.started.v1 m1", inbox: 1},
		{name: "a model call is under way", past: bodies(said, started), next: goesOn, inbox: 1, check: func(s turn.State) bool {
			return !s.Turn.Open && s.Turn.Claim == turn.Claim{Round: 1, Attempt: 1} && s.OpenClaim() == 0
		}},
		{name: "a call is open", past: bodies(said, started, stepped), next: goesOn, inbox: 1, check: func(s turn.State) bool {
			c, _ := s.Turn.Call("c1")
			return c.Done && c.Own && c.Failed && strings.HasPrefix(c.Result, "not run in this fork: ")
		}},
		{name: "a call waits for a person", past: bodies(said, started, stepped, parked), next: goesOn, inbox: 1, check: func(s turn.State) bool {
			c, _ := s.Turn.Call("c1")
			return c.Done && c.Waits == ""
		}},
		{name: "a call has its result", past: bodies(said, started, stepped, callv1.Completed{Turn: "m1/t", Call: "c1", Outcome: callv1.OK, Content: "sunny"}), next: goesOn, inbox: 1, check: func(s turn.State) bool {
			c, _ := s.Turn.Call("c1")
			return c.Result == "sunny" && c.Cursor == 0
		}},
		{name: "a result that is cut", past: bodies(said, started, stepped, callv1.Completed{Turn: "m1/t", Call: "c1", Outcome: callv1.OK, Content: strings.Repeat("x", 70<<10)}), next: goesOn, inbox: 1, check: func(s turn.State) bool {
			c, _ := s.Turn.Call("c1")
			return strings.Contains(c.Note, "of 71680 bytes shown; the rest is in another conversation]") && !strings.Contains(c.Note, "read_result")
		}},
		{name: "a compaction runs", past: bodies(answered("m1"), compacting("m1/t", 1, "")), next: "nothing", turns: 1},
		{name: "a stop was asked for", past: bodies(said, started, stop), next: goesOn, inbox: 1},
		{name: "an order was given", past: bodies(said, control(messagev1.Status)), next: "turn.started.v1 m1", inbox: 1},
		{name: "a new beginning waits", past: bodies(answered("m1"), control(messagev1.New)), next: "session.reset.v1 e4", inbox: 1, turns: 1},
		{name: "after a tombstone", past: bodies(answered("m1"), turnv1.SessionDeleted{}, said), next: "turn.started.v1 m2", inbox: 1},
		{name: "a setting", past: bodies(turnv1.SessionConfigured{Setting: turnv1.ModelSetting, Value: "a/c"}), next: "nothing", check: func(s turn.State) bool {
			return s.Settings.Model == "a/c"
		}},
		{name: "an unknown event", past: bodies(envelope.Unknown{Type: "x.y.v1", Data: []byte("1")}, said), next: "turn.started.v1 m1", inbox: 1},
		{name: "nothing", next: "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := turn.State{}.Apply(forkOf(t, pastOf(c.past...), turnv1.Forked{}))
			if got := nextOf(s); got != c.next || len(s.Inbox) != c.inbox || len(s.Past) != c.turns || s.Usage != (turn.Total{}) || s.Stop != nil || len(s.Orders) > 0 {
				t.Errorf("next is %s of %s", got, compact(s))
			}
			if c.check != nil && !c.check(s) {
				t.Errorf("%s", compact(s))
			}
		})
	}
}

// TestForkWithAModel: it is asked next, whatever has answered before, and what was learned of the other one is forgotten.
func TestForkWithAModel(t *testing.T) {
	was := of("m1", 1, 1)
	was.Model, was.Usage = "a/b", turnv1.Usage{Input: 10}
	past := pastOf(bodies(said, started, turnv1.Overflowed{Outcome: was, Tokens: 9000})...)
	s := turn.State{}.Apply(forkOf(t, past, turnv1.Forked{Model: "a/c"}))
	if s.Settings.Model != "a/c" || s.Room != 0 || s.Turn.Model != "" || s.Turn.Overflows != 0 || s.Turn.Usage != (turn.Total{}) {
		t.Errorf("%s", compact(s))
	}
	if s = (turn.State{}).Apply(forkOf(t, past, turnv1.Forked{})); s.Room != 4500 || s.Turn.Overflows != 1 || s.Turn.Model != "a/b" {
		t.Errorf("%s", compact(s))
	}
}

// TestForkElsewhere: only as the first event of a session it means something, and a line that is none is passed by.
func TestForkElsewhere(t *testing.T) {
	s := fold(turn.State{}, said, started)
	f := forkOf(t, pastOf(answered("m1")...), turnv1.Forked{})
	f.Prev = 2
	if got := s.Apply(f); !reflect.DeepEqual(got, s) {
		t.Errorf("%s", compact(got))
	}
	odd := turnv1.Forked{Events: []json.RawMessage{json.RawMessage(`{}`), json.RawMessage(`"x"`)}}
	if got := (turn.State{}).Apply(eventOf("f", odd)); !reflect.DeepEqual(got, turn.State{}) {
		t.Errorf("%s", compact(got))
	}
}

// TestForkOfAFork: unfolded and forked again, a past comes to the same.
func TestForkOfAFork(t *testing.T) {
	first := forkOf(t, pastOf(bodies(said, started, stepped)...), turnv1.Forked{Model: "a/c"})
	own := []envelope.Event{
		{ID: "g1", Session: forkID, Cursor: 1001, Prev: 1000, Time: epoch, Body: turnv1.Continued{Claim: claim("m1", 2, 1)}},
		{ID: "g2", Session: forkID, Cursor: 1002, Prev: 1001, Time: epoch, Body: turnv1.Stepped{Outcome: of("m1", 2, 1), Calls: []turnv1.Call{{ID: "c2", Tool: "x", Arguments: json.RawMessage(`{}`)}}}},
		{ID: "g3", Session: forkID, Cursor: 1003, Prev: 1002, Time: epoch, Body: callv1.Completed{Turn: "m1/t", Call: "c2", Outcome: callv1.OK, Content: "two"}},
	}
	history := append([]envelope.Event{first}, own...)
	flat := turn.Unfold(history)
	if len(flat) != 7 || flat[3].Kind() != "session.forked" || flat[3].Body.(turnv1.Forked).Events != nil || len(first.Body.(turnv1.Forked).Events) != 3 {
		t.Fatalf("%s", compact(flat))
	}
	if again := turn.Unfold(flat); !reflect.DeepEqual(again, flat) {
		t.Errorf("unfolded twice it is %s", compact(again))
	}
	s := turn.State{}.Apply(forkOf(t, flat, turnv1.Forked{}))
	two, _ := s.Turn.Call("c2")
	if s.Turn.Claim.Round != 2 || two.Result != "two" || two.Cursor != 0 || s.Settings.Model != "a/c" || nextOf(s) != "turn.continued.v1 f" {
		t.Errorf("%s", compact(s))
	}
	if one := s.Turn.Entries[1].Calls[0]; !strings.HasPrefix(one.Result, "not run in this fork") {
		t.Errorf("%s", compact(s))
	}
}

// TestForksOfAnyHistory: at every cursor of a random history a fork is a session like another: what a fold takes over is
// settled, it becomes quiescent, no call of the past is run, and the history is as it was.
func TestForksOfAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s turn.State
		var past []envelope.Event
		for i := range rapid.IntRange(1, 40).Draw(t, "length") {
			ev := envelope.Event{
				ID: fmt.Sprintf("e%d", i), Session: origin, Cursor: uint64(i + 1), Prev: uint64(i), Time: epoch.Add(time.Duration(i) * time.Second).UTC(),
				Body: drawer{t, s}.body(),
			}
			switch ev.Body.(type) {
			case messagev1.Received:
				ev.ID = drawer{t, s}.message()
			case nil: // no journal holds it
				continue
			}
			past, s = append(past, ev), s.Apply(ev)
		}
		before := compact(past)
		rules := drawRules(t)
		for at := range past {
			first := forkOf(t, past[:at+1], turnv1.Forked{Model: rapid.SampledFrom([]string{"", "a/c"}).Draw(t, "model")})
			goOn(t, first, rules)
		}
		if compact(past) != before {
			t.Fatalf("the history has changed")
		}
	})
}

// goOn has one worker finish a fork.
func goOn(t *rapid.T, first envelope.Event, rules turn.Rules) {
	s := turn.State{}.Apply(first)
	if s.Compaction != nil || s.Stop != nil || len(s.Orders) > 0 || s.OpenClaim() != 0 || len(s.OpenCalls()) > 0 || s.Usage != (turn.Total{}) {
		t.Fatalf("not settled: %s", compact(s))
	}
	if got := clone(t, s); !reflect.DeepEqual(got, s) {
		t.Fatalf("a snapshot changes the state:\n%s\n%s", compact(s), compact(got))
	}
	now, cursor, mine := first.Time, first.Cursor, uint64(0)
	add := func(body envelope.Body) {
		cursor++
		s = s.Apply(envelope.Event{ID: fmt.Sprintf("n%d", cursor), Session: forkID, Cursor: cursor, Prev: cursor - 1, Time: now, Body: body})
	}
	for steps := 0; ; steps++ {
		if steps > 2000 {
			t.Fatalf("no end: %s", compact(s))
		}
		switch step := s.Next(machine.View{Now: now, Session: forkID, Worker: "w", Mine: mine}, rules).(type) {
		case machine.Append:
			add(step.Body)
			if step.Claim {
				mine = cursor
			}
		case machine.Perform:
			add(drawOutcome(t, s))
			for _, id := range s.OpenCalls() {
				add(callv1.Completed{Turn: s.Turn.ID, Call: id, Outcome: callv1.OK})
			}
		case machine.Held:
			t.Fatalf("held by %s: %s", step.Worker, compact(s))
		case machine.Wait:
			now = step.Until
		case nil:
			if !s.Quiet() {
				t.Fatalf("left over: %s", compact(s))
			}
			return
		}
	}
}

// TestBefore: a turn is found again with all that it was shown, and without what became of it.
func TestBefore(t *testing.T) {
	second := turnv1.Continued{Claim: claim("m2", 2, 1, "m4")}
	step := turnv1.Stepped{Outcome: of("m2", 1, 1), Calls: []turnv1.Call{{ID: "c1", Tool: "x", Arguments: json.RawMessage(`{}`)}}}
	history := pastOf(bodies(
		answered("m1"), messagev1.Received{Text: "two"}, messagev1.Received{Text: "three"}, turnv1.Started{Claim: claim("m2", 1, 1)}, step,
		callv1.Completed{Turn: "m2/t", Call: "c1", Outcome: callv1.OK}, messagev1.Received{Text: "four"}, stop,
		approvalv1.Cancelled{}, messagev1.Edited{Message: "m4", Text: "4"}, second,
		turnv1.Completed{Outcome: of("m2", 2, 1), Answers: []string{"m2", "m4"}, Text: "done"},
		turnv1.Started{Claim: claim("m3", 1, 1)},
	)...)
	if got := turn.Started(history, origin); !slices.Equal(got, []string{"m1/t", "m2/t", "m3/t"}) {
		t.Fatalf("got %q", got)
	}
	s, events := turn.Before(history, origin, "m2/t")
	if len(s.Past) != 1 || s.Turn != nil || s.Stop != nil || len(s.Inbox) != 2 || s.Inbox[1].Text != "4" || events[0].Kind() != "turn.started" || len(events) != 10 {
		t.Errorf("%s, %d events", compact(s), len(events))
	}
	if c := s.Again("m2/t"); !slices.Equal(c.Messages, []string{"m2", "m4"}) || c.Turn != "m2/t" || c.Round != 1 {
		t.Errorf("%+v", c)
	}
	if s, events = turn.Before(history, origin, "m9/t"); len(s.Inbox) != 0 || events != nil {
		t.Errorf("%s, %d events", compact(s), len(events))
	}
}
