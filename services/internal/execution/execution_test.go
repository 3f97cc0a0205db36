package execution_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/internal/execution"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

const part = "t c"

var house = execution.Machine{Owns: func(name string) bool { return name == "builtin" }} //nolint:gochecknoglobals // a constant

func call(tool string) envelope.Body {
	return callv1.Dispatched{Request: callv1.Request{Turn: "t", Call: "c", Tool: tool, Executor: "builtin"}}
}

func started(attempt int) envelope.Body {
	return callv1.Started{
		Executor: "builtin", Turn: "t", Call: "c", Attempt: attempt, Worker: "w1", Deadline: epoch.Add(time.Minute),
	}
}

func completed(attempt int) envelope.Body {
	return callv1.Completed{Executor: "builtin", Turn: "t", Call: "c", Attempt: attempt, Outcome: callv1.OK}
}

// brief is a step in a word or two.
func brief(step machine.Step) string {
	switch step := step.(type) {
	case machine.Append:
		how := ""
		if step.Tell != "" {
			how = " tells " + step.Tell
		}
		switch b := step.Body.(type) {
		case callv1.Started:
			if b.Call != "c" {
				how += " of " + b.Call
			}
			return fmt.Sprintf("starts %d until %s%s", b.Attempt, b.Deadline.Sub(epoch), how)
		case callv1.Completed:
			if step.Beside {
				how += " beside"
			}
			return fmt.Sprintf("ends %d as %s%s", b.Attempt, b.Outcome, how)
		}
	case machine.Perform:
		return fmt.Sprintf("performs %d until %s", step.Claim, step.Deadline.Sub(epoch))
	case machine.Held:
		return fmt.Sprintf("held %d by %s", step.Claim, step.Worker)
	case machine.Wait:
		return fmt.Sprintf("waits until %s", step.Until.Sub(epoch))
	}
	return "nothing"
}

// TestNext: what a worker is told that finds these events, the n-th at cursor n.
func TestNext(t *testing.T) {
	rules := execution.Rules{
		Timeout: func(string) time.Duration { return 20 * time.Second },
		Again:   func(tool string) bool { return tool == "again" }, Attempts: 3, Grace: 5 * time.Second,
	}
	once, again := call("once"), call("again")
	cancelled, failed := turnv1.Cancelled{Turn: "t"}, turnv1.Failed{Outcome: turnv1.Outcome{Turn: "t"}}
	for _, c := range []struct {
		name       string
		bodies     []envelope.Body
		part       string
		mine, gone uint64
		at         time.Duration
		want       string
	}{
		{"a new call", []envelope.Body{once}, part, 0, 0, 0, "starts 1 until 25s"},
		{"its claim is mine", []envelope.Body{once, started(1)}, part, 2, 0, 0, "performs 2 until 1m0s"},
		{"mine, past the deadline", []envelope.Body{once, started(1)}, part, 2, 0, 2 * time.Minute, "performs 2 until 1m0s"},
		{"somebody else's", []envelope.Body{once, started(1)}, part, 0, 0, time.Minute, "held 2 by w1"},
		{"whose owner is gone", []envelope.Body{once, started(1)}, part, 0, 2, 0, "ends 1 as unknown tells w1"},
		{"whose time is over", []envelope.Body{once, started(1)}, part, 0, 0, time.Minute + 1, "held 2 by w1"},
		{"gone, and may be repeated", []envelope.Body{again, started(1)}, part, 0, 2, 0, "starts 2 until 25s tells w1"},
		{"a third time", []envelope.Body{again, started(1), started(2)}, part, 0, 3, 0, "starts 3 until 25s tells w1"},
		{"but not for ever", []envelope.Body{again, started(1), started(2), started(3)}, part, 0, 4, 0, "ends 3 as unknown tells w1"},
		{"an earlier claim is gone", []envelope.Body{again, started(1), started(2)}, part, 0, 2, 0, "held 3 by w1"},
		{"a claim that skips one", []envelope.Body{again, started(2)}, part, 0, 0, 0, "starts 1 until 25s"},
		{"a claim that comes twice", []envelope.Body{again, started(1), started(1)}, part, 0, 0, 0, "held 2 by w1"},
		{"the outcome of an earlier claim", []envelope.Body{again, started(1), started(2), completed(1)}, part, 0, 0, 0, "held 3 by w1"},
		{"the outcome", []envelope.Body{again, started(1), started(2), completed(2)}, part, 0, 0, 0, "nothing"},
		{"dispatched twice", []envelope.Body{once, started(1), once}, part, 0, 0, 0, "held 2 by w1"},
		{"cancelled before it starts", []envelope.Body{once, cancelled}, part, 0, 0, 0, "nothing"},
		{"cancelled while it runs", []envelope.Body{once, started(1), cancelled}, part, 2, 0, 0, "ends 1 as cancelled tells w1"},
		{"by whom the end rings", []envelope.Body{once, started(1), cancelled}, "", 0, 0, 0, "ends 1 as cancelled tells w1"},
		{"by a ring, somebody else's", []envelope.Body{once, started(1)}, "", 0, 0, 0, "held 2 by w1"},
		{"by a ring, new", []envelope.Body{once}, "", 0, 0, 9 * time.Second, "waits until 10s"},
		{"by a ring, started by nobody", []envelope.Body{once}, "", 0, 0, 10 * time.Second, "starts 1 until 35s"},
		{"by a ring, its claim is mine", []envelope.Body{once, started(1)}, "", 2, 0, 0, "performs 2 until 1m0s"},
		{"by a ring, gone", []envelope.Body{once, started(1)}, "", 0, 2, 0, "ends 1 as unknown tells w1"},
		{"by a ring, past its deadline", []envelope.Body{again, started(1)}, "", 0, 0, 2 * time.Minute, "held 2 by w1"},
		{"by a ring, done", []envelope.Body{once, started(1), completed(1)}, "", 0, 0, time.Hour, "nothing"},
		{"a turn that failed", []envelope.Body{once, started(1), failed}, part, 2, 0, 0, "ends 1 as cancelled tells w1"},
		{"a turn that failed before", []envelope.Body{once, failed}, part, 0, 0, 0, "nothing"},
		{"another turn's end", []envelope.Body{once, turnv1.Cancelled{Turn: "u"}}, part, 0, 0, 0, "starts 1 until 25s"},
		{"a session that is no more", []envelope.Body{once, started(1), turnv1.SessionDeleted{}}, part, 2, 0, 0, "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s execution.State
			for i, b := range c.bodies {
				s = house.Apply(s, envelope.Event{ID: fmt.Sprint("e", i+1), Cursor: uint64(i + 1), Time: epoch, Body: b})
			}
			v := machine.View{Now: epoch.Add(c.at), Worker: "w2", Part: c.part, Mine: c.mine, Gone: c.gone}
			if got := brief(s.Next(v, rules)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestAsk: the last question of the open claim, and the first end of it.
func TestAsk(t *testing.T) {
	asks := func(attempt int, question string) envelope.Body {
		return callv1.Asked{Request: callv1.Request{Executor: "builtin", Turn: "t", Call: "c"}, Attempt: attempt, Question: question}
	}
	of := func(event int) approvalv1.Ref {
		return approvalv1.Ref{Approval: approvalv1.ID("s", fmt.Sprint("e", event)), Turn: "t", Call: "c"}
	}
	once, again := []envelope.Body{call("once"), started(1)}, started(2)
	for _, c := range []struct {
		name   string
		bodies []envelope.Body
		want   string
	}{
		{"nothing", nil, "nothing"},
		{"a question", []envelope.Body{asks(1, "q1")}, "q1 open"},
		{"of an attempt that is not open", []envelope.Body{asks(2, "q1")}, "nothing"},
		{"another", []envelope.Body{asks(1, "q1"), asks(1, "q2")}, "q2 open"},
		{"shown", []envelope.Body{asks(1, "q1"), approvalv1.Requested{Approval: of(3).Approval}}, "q1 open"},
		{"decided", []envelope.Body{asks(1, "q1"), approvalv1.Decided{Ref: of(3), Reason: "x"}}, "q1 over x"},
		{"expired", []envelope.Body{asks(1, "q1"), approvalv1.Expired{Ref: of(3)}}, "q1 over"},
		{"cancelled", []envelope.Body{asks(1, "q1"), approvalv1.Cancelled{Ref: of(3)}}, "q1 over"},
		{"void", []envelope.Body{asks(1, "q1"), approvalv1.Voided{Ref: of(3)}}, "q1 over"},
		{"decided too late", []envelope.Body{asks(1, "q1"), approvalv1.Expired{Ref: of(3)}, approvalv1.Decided{Ref: of(3), Reason: "x"}}, "q1 over"},
		{"another was decided", []envelope.Body{asks(1, "q1"), asks(1, "q2"), approvalv1.Decided{Ref: of(3), Reason: "x"}}, "q2 open"},
		{"a new claim", []envelope.Body{asks(1, "q1"), again}, "nothing"},
		{"an end without a question", []envelope.Body{approvalv1.Decided{Ref: of(3)}}, "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s execution.State
			for i, b := range slices.Concat(once, c.bodies) {
				s = house.Apply(s, envelope.Event{ID: fmt.Sprint("e", i+1), Session: "s", Cursor: uint64(i + 1), Time: epoch, Body: b})
			}
			open, _ := s.Open(part)
			got := "nothing"
			if a := open.Ask; a != nil {
				if got = a.Question + " open"; a.Over {
					got = a.Question + " over"
				}
				if a.Decided != nil {
					got += " " + a.Decided.Reason
				}
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestRestOfTheSession: a ring is for all calls, one after the other.
func TestRestOfTheSession(t *testing.T) {
	rules := execution.Rules{
		Timeout: func(string) time.Duration { return 20 * time.Second }, Again: func(string) bool { return false }, Attempts: 3,
	}
	dispatched := func(turn, call string) envelope.Body {
		return callv1.Dispatched{Request: callv1.Request{Turn: turn, Call: call, Tool: "once", Executor: "builtin"}}
	}
	claimed := func(turn, call, worker string) envelope.Body {
		return callv1.Started{Executor: "builtin", Turn: turn, Call: call, Attempt: 1, Worker: worker, Deadline: epoch.Add(time.Minute)}
	}
	for _, c := range []struct {
		name       string
		bodies     []envelope.Body
		mine, gone uint64
		want       string
	}{
		{"what nobody has started comes first", []envelope.Body{dispatched("t", "c"), claimed("t", "c", "w1"), dispatched("t", "d")}, 0, 0, "starts 1 until 1m0s of d"},
		{"the oldest claim is asked for", []envelope.Body{
			dispatched("t", "c"), dispatched("t", "d"), claimed("t", "d", "w3"), claimed("t", "c", "w1"),
		}, 0, 0, "held 3 by w3"},
		{"the other is asked for when the oldest has gone", []envelope.Body{
			dispatched("t", "c"), dispatched("t", "d"), claimed("t", "d", "w3"), claimed("t", "c", "w1"),
			callv1.Completed{Executor: "builtin", Turn: "t", Call: "d", Attempt: 1, Outcome: callv1.Unknown},
		}, 0, 3, "held 4 by w1"},
		{"nothing is started beside mine", []envelope.Body{dispatched("t", "c"), claimed("t", "c", "w2"), dispatched("t", "d")}, 2, 0, "performs 2 until 1m0s"},
		{"another turn's end", []envelope.Body{
			dispatched("t", "c"), claimed("t", "c", "w2"), dispatched("u", "d"), claimed("u", "d", "w1"), turnv1.Cancelled{Turn: "u"},
		}, 2, 0, "ends 1 as cancelled tells w1 beside"},
		{"its own turn's end", []envelope.Body{
			dispatched("t", "c"), claimed("t", "c", "w2"), dispatched("u", "d"), claimed("u", "d", "w1"), turnv1.Cancelled{Turn: "t"},
		}, 2, 0, "ends 1 as cancelled tells w2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s execution.State
			for i, b := range c.bodies {
				s = house.Apply(s, envelope.Event{ID: fmt.Sprint("e", i+1), Cursor: uint64(i + 1), Time: epoch, Body: b})
			}
			v := machine.View{Now: epoch.Add(40 * time.Second), Worker: "w2", Mine: c.mine, Gone: c.gone}
			if got := brief(s.Next(v, rules)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
