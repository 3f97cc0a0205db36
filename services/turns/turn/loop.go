package turn

import (
	"slices"

	"github.com/jetclaw/jetclaw/schemas/canonical"
)

const (
	// maxFailures is how often the same call may fail in one turn.
	maxFailures = 3
	noteAgain   = "(this failed the same way before: do something else)"
)

// Identity is what makes two calls the same one: the tool and its arguments, however they are written.
func (c Call) Identity() string {
	args, err := canonical.JSON([]byte(c.Arguments))
	if err != nil {
		return c.Tool + "\x00" + c.Arguments
	}
	return c.Tool + "\x00" + string(args)
}

// failures is in how many steps of the turn c has failed. The same call many times in one step is one try: the model has
// not been told of any yet.
func (t *Turn) failures(c Call) int {
	want, n := "", 0
	count := func(calls []Call) {
		for _, other := range calls {
			if !other.Failed || other.Tool != c.Tool {
				continue
			}
			if want == "" { // most calls do not fail twice
				want = c.Identity()
			}
			if other.Identity() == want {
				n++
				return
			}
		}
	}
	for _, e := range t.Entries {
		count(e.Calls)
	}
	return n
}

// loops is the tool of a call that has failed too often, or "". Only a call of the last step can have become one.
func (t *Turn) loops() (tool string, found bool) {
	for _, c := range t.lastCalls() {
		if c.Failed && t.failures(c) >= maxFailures {
			return c.Tool, true
		}
	}
	return "", false
}

// lastCalls are those of the last step; messages may have come since.
func (t *Turn) lastCalls() []Call {
	for _, e := range slices.Backward(t.Entries) {
		if e.Role == Assistant {
			return e.Calls
		}
	}
	return nil
}
