package turn_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("far", 3600))

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

// eventOf is the event of a body, the first of its session.
func eventOf(id string, body envelope.Body) envelope.Event {
	return envelope.Event{ID: id, Cursor: 1, Time: epoch, Body: body}
}

func claim(message string, round, attempt int, more ...string) turnv1.Claim {
	return turnv1.Claim{
		Turn: message + "/t", Round: round, Attempt: attempt, Worker: "w1", Deadline: epoch.Add(time.Hour),
		Messages: append([]string{message}, more...),
	}
}

func of(message string, round, attempt int) turnv1.Outcome {
	return turnv1.Outcome{Turn: message + "/t", Round: round, Attempt: attempt}
}

// answered are the events of a message that was answered with 100 bytes: 232 bytes of history.
func answered(message string) []envelope.Body {
	return []envelope.Body{
		messagev1.Received{Text: fmt.Sprintf("%068d", 0)},
		turnv1.Started{Claim: claim(message, 1, 1)},
		turnv1.Completed{Outcome: of(message, 1, 1), Answers: []string{message}, Text: fmt.Sprintf("%0100d", 0)},
	}
}

// aTurn is how many bytes one of them has.
const aTurn = 232

func control(verb messagev1.Verb, argument ...string) messagev1.Control {
	c := messagev1.Control{Verb: verb}
	if len(argument) > 0 {
		c.Argument = argument[0]
	}
	return c
}

func compacting(through string, attempt int, by string) turnv1.CompactionStarted {
	return turnv1.CompactionStarted{
		Compaction: through + "/c", Attempt: attempt, Worker: "w1", Deadline: epoch.Add(time.Hour), Through: through, By: by,
	}
}

var (
	said    = messagev1.Received{Text: "hi"}
	started = turnv1.Started{Claim: claim("m1", 1, 1)}
	stepped = turnv1.Stepped{Outcome: of("m1", 1, 1), Calls: []turnv1.Call{{ID: "c1", Tool: "x", Arguments: json.RawMessage(`{"a":1}`)}}}
	refused = turnv1.Stepped{Outcome: of("m1", 1, 1), Calls: []turnv1.Call{{ID: "c1", Tool: "x", Arguments: json.RawMessage(`{}`), Refusal: "no"}}}
	stop    = control(messagev1.Stop)
)

func bodies(parts ...any) []envelope.Body {
	var out []envelope.Body
	for _, p := range parts {
		switch p := p.(type) {
		case []envelope.Body:
			out = append(out, p...)
		case envelope.Body:
			out = append(out, p)
		}
	}
	return out
}

func compact(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
