package turn_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// anyBody draws any event body of the machine's world, legal or not, over few enough names that they often meet; half
// of the time it names the turn that runs in s.
func anyBody(t *rapid.T, s turn.State) envelope.Body {
	pick := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
	message := func() string { return pick("message", "m1", "m2", "m3") }
	claim := func() turnv1.Claim {
		if r := s.Turn; r != nil && rapid.Bool().Draw(t, "running") {
			return turnv1.Claim{
				Turn: r.ID, Round: r.Claim.Round, Attempt: r.Claim.Attempt, Worker: "w1", Deadline: r.Claim.Deadline, Messages: r.Messages,
			}
		}
		m := message()
		return turnv1.Claim{
			Turn: m + "/t", Round: rapid.IntRange(1, 3).Draw(t, "round"), Attempt: rapid.IntRange(1, 3).Draw(t, "attempt"),
			Worker: pick("worker", "w1", "w2"), Deadline: epoch.Add(time.Hour), Messages: []string{m},
		}
	}
	out := func() turnv1.Outcome {
		c := claim()
		return turnv1.Outcome{Turn: c.Turn, Round: c.Round, Attempt: c.Attempt, Usage: turnv1.Usage{Input: 1, Output: 2}}
	}
	answers := func(o string) []string { return []string{o[:len(o)-len("/t")]} }
	call := func() string { return pick("call", "c1", "c2", "c3", "c4") }
	text := rapid.StringN(0, 8, 20).Draw(t, "text")
	switch rapid.IntRange(0, 15).Draw(t, "kind") {
	case 0, 1, 2:
		return messagev1.Received{Text: text}
	case 3:
		return messagev1.Edited{Message: message(), Text: text}
	case 4:
		return messagev1.Control{Verb: messagev1.Verb(pick("verb", "stop", "new", "dance"))}
	case 5, 6:
		return turnv1.Started{Claim: claim()}
	case 7:
		return turnv1.Continued{Claim: claim()}
	case 8:
		return turnv1.Resumed{Claim: claim(), From: "w0"}
	case 9:
		b := turnv1.Stepped{Outcome: out(), Text: text}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			b.Calls = append(b.Calls, turnv1.Call{
				ID: call(), Tool: "x", Arguments: json.RawMessage(`{"a": "<b>"}`), Refusal: pick("refusal", "", "", "no such tool"),
			})
		}
		return b
	case 10:
		o := out()
		return turnv1.Completed{Outcome: o, Answers: answers(o.Turn), Text: text}
	case 11:
		o := out()
		return turnv1.Failed{Outcome: o, Answers: answers(o.Turn), Cause: turnv1.ModelGarbage, Text: text}
	case 12:
		c := claim()
		return turnv1.Cancelled{Turn: c.Turn, Answers: c.Messages, By: "c9"}
	case 13:
		return callv1.Completed{Turn: claim().Turn, Call: call(), Outcome: callv1.Outcome(pick("outcome", "ok", "error", "unknown", "")), Content: text}
	case 14:
		return callv1.Denied{Turn: claim().Turn, Call: call(), Reason: text}
	}
	switch pick("rare", "reset", "unknown", "refused", "nil", "deleted") {
	case "reset":
		return turnv1.SessionReset{By: "c1"}
	case "unknown":
		return envelope.Unknown{Type: "turn.dreamt.v9", Data: []byte("{")}
	case "refused":
		return messagev1.Refused{Reason: messagev1.Empty}
	case "deleted":
		return turnv1.SessionDeleted{By: "c1"}
	}
	return nil
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("far", 3600))

// TestAnyHistory folds events in orders that no journal would ever hold.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s turn.State
		var arrived, left []string // messages and controls "new", by their first arrival; those that an outcome took out
		for i := range rapid.IntRange(1, 60).Draw(t, "length") {
			ev := envelope.Event{
				ID: fmt.Sprintf("e%d", i), Cursor: uint64(i + 1), Time: epoch.Add(time.Duration(i) * time.Second), Body: anyBody(t, s),
			}
			if _, ok := ev.Body.(messagev1.Received); ok {
				ev.ID = rapid.SampledFrom([]string{"m1", "m2", "m3"}).Draw(t, "id")
				ev.Key = "k" + ev.ID
			}
			before, beforeText := clone(t, s), compact(s)
			next := s.Apply(ev)
			nextText := compact(next)
			s.Apply(envelope.Event{ID: "branch", Cursor: ev.Cursor, Time: ev.Time, Body: anyBody(t, s)})
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
			}
			s = next
			checkState(t, s, arrived)
		}
	})
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
	checkPairs(t, turn.Prompt(s, "", turn.DefaultLimits()))
	for _, x := range s.Past {
		for _, e := range x.Entries {
			for _, c := range e.Calls {
				if !c.Done {
					t.Fatalf("finished turn %s has call %s without a result", x.Turn, c.ID)
				}
			}
		}
	}
}

// checkPairs: each call is followed by its result, in order, and no result stands alone.
func checkPairs(t *rapid.T, prompt []turn.Message) {
	var open []string
	for i, m := range prompt {
		if m.Role == turn.Tool {
			if len(open) == 0 || open[0] != m.Call || m.Text == "" {
				t.Fatalf("message %d: result of %q, open are %v", i, m.Call, open)
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			t.Fatalf("message %d follows calls %v without results", i, open)
		}
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Fatalf("the prompt ends with calls %v without results", open)
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
