package bus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Conflict says that the session has news: the compare-and-set lost.
type Conflict struct {
	Last  uint64 // the session's last cursor; meaningful when Known
	Known bool   // errors 10164 and 10158 (a replicated stream, writes in flight) come without the number
}

func (c *Conflict) Error() string {
	if !c.Known {
		return "the session has news"
	}
	return fmt.Sprintf("the session has news up to cursor %d", c.Last)
}

var lastSequence = regexp.MustCompile(`wrong last sequence: (\d+)`)

// conflictOf reads a server's answer to a publish that was not stored because of another one.
func conflictOf(err error) (*Conflict, bool) {
	api, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return nil, false
	}
	switch api.ErrorCode {
	case codeWrongLast, codeWrongLastConstant, codeInProcess:
		m := lastSequence.FindStringSubmatch(api.Description)
		if m == nil {
			return &Conflict{}, true
		}
		n, err := strconv.ParseUint(m[1], 10, 64)
		return &Conflict{Last: n, Known: err == nil}, true
	}
	return nil, false
}

// Settle waits before another try when the conflict came without a number: a write to the session is then under way and not yet
// agreed on, and no new prev helps before it is. That may be one's own whose answer was lost, in a session where nothing else goes on,
// and lasts as long as the copies need to agree. The wait is by chance, the longer the more often: who collides at once with the same
// others does so again. With a number it returns at once. Every loop around a compare-and-set calls it, or waits for Pause.
func (c *Conflict) Settle(ctx context.Context, try int) error {
	d := c.Pause(try, rand.Float64())
	if d == 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// Pause is how long Settle waits, for a chance from 0 to 1.
func (c *Conflict) Pause(try int, chance float64) time.Duration {
	if c.Known {
		return 0
	}
	longest := min(time.Millisecond<<min(try, 10), longestSettle)
	return max(time.Duration(chance*float64(longest)), 1)
}

const longestSettle = 400 * time.Millisecond
