package turn

import (
	"errors"
	"fmt"
	"time"
)

// Limits bound a turn. Start with DefaultLimits.
type Limits struct {
	// Attempts is how often one model call may be claimed: after as many lost workers the turn fails.
	Attempts int
	// Rounds is how many model calls one turn may make.
	Rounds int
	// CallTime bounds one model call.
	CallTime time.Duration
	// TurnTime bounds all model calls of a turn together. Waiting for tools and approvals does not count, nor does a
	// call that was lost with its worker: Attempts bounds those.
	TurnTime time.Duration
	// Grace is how much later than its limit a call may be taken over, so that the runner's own report comes first.
	Grace time.Duration
	// History is how many bytes of conversation the model is shown, the running turn included (which is always shown).
	History int
}

// DefaultLimits are the limits of an agent that nobody has configured. 64 KiB are about 16,000 tokens.
func DefaultLimits() Limits {
	return Limits{
		Attempts: 6, Rounds: 32,
		CallTime: 2 * time.Minute, TurnTime: 10 * time.Minute, Grace: 5 * time.Second,
		History: 64 << 10,
	}
}

// Validate says what is wrong with l.
func (l Limits) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(l.Attempts >= 1, "attempts: %d, at least 1 is needed to call a model at all", l.Attempts)
	check(l.Rounds >= 1, "rounds: %d, at least 1 is needed to call a model at all", l.Rounds)
	check(l.CallTime > 0, "call time: %s, every model call would time out", l.CallTime)
	check(l.TurnTime >= l.CallTime, "turn time: %s is less than the call time %s", l.TurnTime, l.CallTime)
	check(l.Grace > 0, "grace: %s, a call at its limit would be taken over before it is reported", l.Grace)
	check(l.History >= 1<<10 && l.History <= Kept, "history: %d bytes, must be between %d and %d", l.History, 1<<10, Kept)
	return errors.Join(errs...)
}
