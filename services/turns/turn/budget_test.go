package turn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// spent is a turn whose one model call has used that, and may go on.
func spent(u turnv1.Usage) []envelope.Body {
	b := refused
	b.Model, b.Usage = "a/b", u
	return bodies(said, started, b)
}

func TestBudget(t *testing.T) {
	limit := func(tokens int, cost int64) func(*turn.Rules) {
		return func(r *turn.Rules) { r.Budget = turn.Budget{Tokens: tokens, Cost: cost} }
	}
	u := turnv1.Usage{Input: 90, Output: 10, Cost: 50, Priced: true}
	unpriced := turnv1.Usage{Input: 90, Output: 10}
	checkCases(t, []nextCase{
		{name: "no limits", bodies: spent(unpriced), rules: limit(0, 0), want: "turn.continued <- e3"},
		{name: "tokens left", bodies: spent(u), rules: limit(101, 0), want: "turn.continued <- e3"},
		{name: "tokens used up", bodies: spent(u), rules: limit(100, 0), want: "turn.failed <- e3"},
		{name: "money left", bodies: spent(u), rules: limit(0, 51), want: "turn.continued <- e3"},
		{name: "money used up", bodies: spent(u), rules: limit(0, 50), want: "turn.failed <- e3"},
		{name: "money of unknown price", bodies: spent(unpriced), rules: limit(0, 1<<40), want: "turn.failed <- e3"},
		{name: "time used up", bodies: spent(u), rules: func(r *turn.Rules) { r.Limits.CallTime, r.Limits.TurnTime = time.Second, time.Second }, want: "turn.failed <- e3"},
		{name: "time left", bodies: spent(u), rules: func(r *turn.Rules) { r.Limits.CallTime, r.Limits.TurnTime = time.Second, time.Second+1 }, want: "turn.continued <- e3"},
		{name: "rounds used up", bodies: spent(u), rules: func(r *turn.Rules) { r.Limits.Rounds = 1 }, want: "turn.failed <- e3"},
	})
	for tokens, cost := range map[int]int64{100: 0, 0: 50} {
		r := turn.DefaultRules()
		limit(tokens, cost)(&r)
		step, _ := fold(turn.State{}, spent(u)...).Next(machine.View{Now: epoch}, r).(machine.Append)
		if b, ok := step.Body.(turnv1.Failed); !ok || b.Cause != turnv1.OverBudget || !strings.Contains(b.Text, "limits.") || len(b.Answers) != 1 {
			t.Errorf("got %s", compact(step.Body))
		}
	}
}

func TestUsage(t *testing.T) {
	done := turnv1.Completed{Outcome: of("m1", 1, 1), Answers: []string{"m1"}}
	done.Model, done.Usage = "a/b", turnv1.Usage{Input: 7, Output: 3, Cost: 5, Priced: true}
	with := turnv1.SessionCompacted{Compaction: "m1/t/c", Attempt: 1, Through: "m1/t", Model: "a/c", Usage: turnv1.Usage{Input: 2, Output: 1, Cost: 9}}
	s := fold(turn.State{}, said, started, done, compacting("m1/t", 1, ""), with)
	if want := (turn.Total{Calls: 2, Input: 9, Output: 4, Cost: 5, Unpriced: 3}); s.Usage != want {
		t.Errorf("got %+v, want %+v", s.Usage, want)
	}
	done.Model = "" // it was not about a call: a take-over that came too often
	if s := fold(turn.State{}, said, started, done); s.Usage != (turn.Total{}) {
		t.Errorf("got %+v", s.Usage)
	}
}

func TestCallsLeft(t *testing.T) {
	r := fold(turn.State{}, said, started, turnv1.Stepped{Outcome: of("m1", 1, 1), Calls: make([]turnv1.Call, 3)}).Turn
	for budget, want := range map[int]int{0: -1, -1: -1, 3: 0, 2: 0, 5: 2} {
		if got := r.CallsLeft(turn.Budget{Calls: budget}); got != want {
			t.Errorf("of %d: %d left, want %d", budget, got, want)
		}
	}
}

func TestRules(t *testing.T) {
	if err := turn.DefaultRules().Validate(); err != nil {
		t.Fatal(err)
	}
	bad := turn.Rules{Queue: turn.Queue{Mode: "odd", Cap: -1, Full: "odd", Debounce: time.Minute}, Compact: turn.Compact{Due: 1, Keep: 2}}
	err := bad.Validate()
	for _, name := range []string{"attempts", "rounds", "call time", "grace", "queue mode", "queue cap", "full queue", "debounce", "compaction"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("nothing about %s in %v", name, err)
		}
	}
	for _, window := range []int{0, 1, 8_000, 200_000, 1 << 40} {
		if err := turn.CompactFor(window).Validate(); err != nil {
			t.Error(err)
		}
	}
	s := fold(turn.State{}, turnv1.SessionConfigured{Setting: turnv1.ModelSetting, Value: "a/c"}, control(messagev1.Model))
	r := turn.Rules{Model: "a/b", Models: []string{"a/b", "a/c"}, Providers: []string{"a"}}
	step, _ := s.Next(machine.View{}, r).(machine.Append)
	if b, ok := step.Body.(noticev1.Posted); !ok || s.ModelRef(r) != "a/c" || !strings.Contains(b.Text, "chosen for this session; the agent's is a/b") {
		t.Errorf("got %s", compact(step.Body))
	}
}

func TestMoney(t *testing.T) {
	for want, total := range map[string]turn.Total{
		"nothing was used": {}, "$0.05": {Cost: 50_000_000}, "unknown: 9 tokens without a price (models.prices)": {Input: 9, Unpriced: 9},
		"$0.05, and unknown: 9 tokens without a price (models.prices), 1 answer without a count of tokens": {Cost: 50_000_000, Input: 9, Unpriced: 9, Silent: 1}, "$0.00": {Input: 5},
	} {
		if got := total.Money(); got != want {
			t.Errorf("%+v is %s", total, got)
		}
	}
}

// TestAProviderThatDoesNotCount: what is limited cannot go on with a model of which nobody knows what it uses.
func TestAProviderThatDoesNotCount(t *testing.T) {
	step := stepped
	step.Model = "a/b"
	s := fold(turn.State{}, said, started, step, callv1.Completed{Turn: "m1/t", Call: "c1", Outcome: callv1.OK})
	r := turn.DefaultRules()
	if got, ok := s.Next(machine.View{Now: epoch}, r).(machine.Append).Body.(turnv1.Continued); !ok {
		t.Errorf("without a limit: %+v", got)
	}
	for _, b := range []turn.Budget{{Tokens: 1 << 30}, {Cost: 1 << 60}} {
		r.Budget = b
		got, ok := s.Next(machine.View{Now: epoch}, r).(machine.Append).Body.(turnv1.Failed)
		if !ok || got.Cause != turnv1.OverBudget || !strings.Contains(got.Text, "did not say how much") {
			t.Errorf("with %+v: %+v", b, got)
		}
	}
}
