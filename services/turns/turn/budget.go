package turn

import (
	"fmt"

	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/money"
)

// over ends a turn that has used up what it may, before its next model call; nil when it may go on.
func (t *Turn) over(r Rules) machine.Step {
	stop := func(cause turnv1.Cause, format string, args ...any) machine.Step {
		return t.fail(cause, "I stopped here: "+fmt.Sprintf(format, args...))
	}
	l, b := r.Limits, r.Budget
	tool, looping := t.loops()
	switch {
	case looping:
		return stop(turnv1.Looping,
			"I called the tool %q %d times with the same arguments, and each time it failed. Say it in another way, or ask me to go on.", tool, maxFailures)
	case t.Claim.Round >= l.Rounds:
		return stop(turnv1.TooManyRounds,
			"after %s there was still no answer (limits.rounds). Try a smaller task, or ask me to go on.", counted(t.Claim.Round, "round"))
	case t.Spent >= l.TurnTime:
		return stop(turnv1.TimedOut,
			"the time limit for one answer, %s, is used up (limits.turn). Try a smaller task, or ask me to go on.", l.TurnTime)
	case b.Tokens > 0 && t.Usage.Tokens() >= b.Tokens:
		return stop(turnv1.OverBudget,
			"this answer has used %d of the %d tokens that one may (limits.tokens). Ask me to go on, or raise the limit.", t.Usage.Tokens(), b.Tokens)
	case (b.Cost > 0 || b.Tokens > 0) && t.Usage.Silent > 0:
		return stop(turnv1.OverBudget,
			"what an answer may use is limited (limits.tokens, limits.money), but %s did not say how much it used. Use another model, or remove the limit.",
			t.Model)
	case b.Cost > 0 && t.Usage.Unpriced > 0:
		return stop(turnv1.OverBudget,
			"an answer may cost %s (limits.money), but the price of %s is not known. Give it under models.prices, or remove the limit.",
			money.Dollars(b.Cost), t.Model)
	case b.Cost > 0 && t.Usage.Cost >= b.Cost:
		return stop(turnv1.OverBudget,
			"this answer has cost %s of the %s that one may (limits.money). Ask me to go on, or raise the limit.",
			money.Dollars(t.Usage.Cost), money.Dollars(b.Cost))
	}
	return nil
}

// CallsLeft is how many tool calls the turn may still make; -1: any number.
func (t *Turn) CallsLeft(b Budget) int {
	if b.Calls <= 0 {
		return -1
	}
	return max(0, b.Calls-t.Calls)
}
