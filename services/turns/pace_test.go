//go:build !race

package turns_test

import "time"

// shortTime is the time limit of a model call that is meant to reach it: all kinds of misbehaviour begin at once, and each
// call has to get through before.
const shortTime = 4 * time.Second
