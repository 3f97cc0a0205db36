package turn_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// fold numbers bodies as events e1, e2… one second apart; messages are called m1, m2…
func fold(s turn.State, bodies ...envelope.Body) turn.State {
	messages := 0
	for i, b := range bodies {
		ev := envelope.Event{ID: fmt.Sprintf("e%d", i+1), Cursor: uint64(i + 1), Time: epoch.Add(time.Duration(i) * time.Second), Body: b}
		if _, ok := b.(messagev1.Received); ok {
			messages++
			ev.ID = fmt.Sprintf("m%d", messages)
		}
		s = s.Apply(ev)
	}
	return s
}

func claim(message string, round, attempt int) turnv1.Claim {
	return turnv1.Claim{Turn: message + "/t", Round: round, Attempt: attempt, Worker: "w1", Deadline: epoch.Add(time.Hour), Messages: []string{message}}
}

func of(message string, round, attempt int) turnv1.Outcome {
	return turnv1.Outcome{Turn: message + "/t", Round: round, Attempt: attempt}
}

var (
	said    = messagev1.Received{Text: "hi"}
	started = turnv1.Started{Claim: claim("m1", 1, 1)}
	stepped = turnv1.Stepped{Outcome: of("m1", 1, 1), Calls: []turnv1.Call{{ID: "c1", Tool: "x", Arguments: json.RawMessage(`{"a":1}`)}}}
)

func TestApply(t *testing.T) {
	for _, c := range []struct {
		name   string
		bodies []envelope.Body
		inbox  int
		past   int
		open   bool // a model call is claimed
		calls  int  // open ones
	}{
		{name: "nothing"},
		{name: "a message waits", bodies: []envelope.Body{said}, inbox: 1},
		{name: "a turn starts", bodies: []envelope.Body{said, started}, inbox: 1, open: true},
		{name: "a turn without a message does not", bodies: []envelope.Body{started}},
		{name: "another turn does not start beside it", bodies: []envelope.Body{
			said, said, started, stepped, turnv1.Started{Claim: claim("m2", 1, 1)},
		}, inbox: 2, calls: 1},
		{name: "an answer without a turn", bodies: []envelope.Body{said, turnv1.Completed{Outcome: of("m1", 1, 1), Answers: []string{"m1"}}}, inbox: 1},
		{name: "the answer", bodies: []envelope.Body{said, started, turnv1.Completed{Outcome: of("m1", 1, 1), Answers: []string{"m1"}}}, past: 1},
		{name: "an answer of another attempt", bodies: []envelope.Body{said, started, turnv1.Completed{Outcome: of("m1", 1, 2), Answers: []string{"m1"}}}, inbox: 1, open: true},
		{name: "an answer of another round", bodies: []envelope.Body{said, started, turnv1.Failed{Outcome: of("m1", 2, 1), Answers: []string{"m1"}}}, inbox: 1, open: true},
		{name: "calls are open", bodies: []envelope.Body{said, started, stepped}, inbox: 1, calls: 1},
		{name: "an answer while calls are open", bodies: []envelope.Body{said, started, stepped, turnv1.Completed{Outcome: of("m1", 1, 1), Answers: []string{"m1"}}}, inbox: 1, calls: 1},
		{name: "a failure while calls are open", bodies: []envelope.Body{said, started, stepped, turnv1.Failed{Outcome: of("m1", 1, 1), Answers: []string{"m1"}}}, past: 1},
		{name: "the result", bodies: []envelope.Body{said, started, stepped, callv1.Completed{Turn: "m1/t", Call: "c1"}}, inbox: 1},
		{name: "a result of another turn", bodies: []envelope.Body{said, started, stepped, callv1.Completed{Turn: "m0/t", Call: "c1"}}, inbox: 1, calls: 1},
		{name: "resumed", bodies: []envelope.Body{said, started, turnv1.Resumed{Claim: claim("m1", 1, 2)}}, inbox: 1, open: true},
		{name: "resumed after the step", bodies: []envelope.Body{said, started, stepped, turnv1.Resumed{Claim: claim("m1", 1, 2)}}, inbox: 1, calls: 1},
		{name: "cancelled while calls are open", bodies: []envelope.Body{said, said, started, stepped, turnv1.Cancelled{Turn: "m1/t", Answers: []string{"m1"}}}, inbox: 1, past: 1},
		{name: "another turn is cancelled", bodies: []envelope.Body{said, started, turnv1.Cancelled{Turn: "m0/t", Answers: []string{"m1"}}}, inbox: 1, open: true},
		{name: "unknown", bodies: []envelope.Body{said, envelope.Unknown{Type: "x.y.v1"}, nil}, inbox: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fold(turn.State{}, c.bodies...)
			if open := s.Turn != nil && s.Turn.Open; len(s.Inbox) != c.inbox || len(s.Past) != c.past || open != c.open || len(s.OpenCalls()) != c.calls {
				t.Errorf("got %s", compact(s))
			}
		})
	}
}

func TestASecondFactIsIgnored(t *testing.T) {
	s := fold(turn.State{}, said, started)
	stop := envelope.Event{ID: "s1", Key: "k", Body: messagev1.Control{Verb: messagev1.Stop}}
	s = s.Apply(stop)
	s = s.Apply(envelope.Event{ID: "x", Body: turnv1.Cancelled{Turn: "m1/t", Answers: []string{"m1"}}})
	s = s.Apply(envelope.Event{ID: "m2", Key: "k2", Body: said})
	s = s.Apply(envelope.Event{ID: "y", Cursor: 9, Body: turnv1.Started{Claim: claim("m2", 1, 1)}})
	stop.ID = "s2" // a retry of intake under another id
	if s = s.Apply(stop); s.Turn.Stop != "" {
		t.Error("one stop has stopped two turns")
	}
	if again := s.Apply(envelope.Event{ID: "m2", Key: "other", Body: said}); len(again.Inbox) != 1 {
		t.Error("one id is twice in the inbox")
	}
}

func TestBounds(t *testing.T) {
	var s turn.State
	big := strings.Repeat("é", 20<<10)
	for i := range 100 {
		m := fmt.Sprintf("m%d", i)
		s = s.Apply(envelope.Event{ID: m, Key: "k" + m, Body: messagev1.Received{Text: big}})
		s = s.Apply(envelope.Event{ID: "s" + m, Cursor: uint64(i + 1), Time: epoch, Body: turnv1.Started{Claim: claim(m, 1, 1)}})
		s = s.Apply(envelope.Event{ID: "c" + m, Body: turnv1.Completed{Outcome: of(m, 1, 1), Answers: []string{m}, Text: "ok"}})
	}
	if n := len(compact(s)); n > turn.Kept+32<<10 {
		t.Errorf("a state of %d bytes", n)
	}
	if len(s.Seen) != 64 || s.Seen[63].ID != "m99" {
		t.Errorf("%d facts, the last is %v", len(s.Seen), s.Seen[len(s.Seen)-1])
	}
	huge := strings.Repeat("é", 80<<10)
	s = fold(turn.State{}, said, started, stepped, callv1.Completed{Turn: "m1/t", Call: "c1", Outcome: callv1.OK, Content: huge})
	result := turn.Prompt(s, "", turn.DefaultLimits())[2]
	if !strings.HasSuffix(result.Text, "é\n[cut: 98304 more bytes]") {
		t.Errorf("a result ends in %q", result.Text[len(result.Text)-40:])
	}
}

func TestPrompt(t *testing.T) {
	l := turn.DefaultLimits()
	l.History = 1000
	var s turn.State
	for i := range 10 {
		m := fmt.Sprintf("m%d", i)
		s = s.Apply(envelope.Event{ID: m, Body: messagev1.Received{Text: strings.Repeat("x", 200)}})
		s = s.Apply(envelope.Event{ID: "s" + m, Cursor: uint64(i + 1), Body: turnv1.Started{Claim: claim(m, 1, 1)}})
		if i < 9 {
			s = s.Apply(envelope.Event{ID: "c" + m, Body: turnv1.Completed{Outcome: of(m, 1, 1), Answers: []string{m}, Text: fmt.Sprint(i)}})
		}
	}
	got := turn.Prompt(s, "be kind", l) // 232 bytes run, 265 a finished turn: two of them fit
	if len(got) != 6 || got[0].Text != "be kind" || got[2].Text != "7" || got[5].Role != turn.User {
		t.Errorf("got %s", compact(got))
	}
	l.History = 1
	if got := turn.Prompt(s, "", l); len(got) != 1 || got[0].Role != turn.User {
		t.Errorf("the running turn is always shown, got %s", compact(got))
	}
}
