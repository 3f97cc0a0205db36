package bus

import (
	"context"
	"errors"

	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Before is the cursor of a session's last message below a cursor; 0 when there is none. It is for stepping over a
// message that is no event and so does not say what it follows; a walk along jc-prev is cheaper.
func (j *Journal) Before(ctx context.Context, s session.ID, cursor uint64) (uint64, error) {
	if cursor <= 1 {
		return 0, nil
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTimeout)
		defer cancel()
	}
	lasts, err := jetstreamext.GetLastMsgsFor(ctx, j.c.js, subject.Journal, []string{subject.OfSession(s)},
		jetstreamext.GetLastMsgsUpToSeq(cursor-1))
	if err != nil {
		return 0, fault.New(fault.Unavailable, "what %s has before %d: %w", s, cursor, err)
	}
	before := uint64(0)
	for m, err := range lasts { // the last one of each subject
		if errors.Is(err, jetstreamext.ErrNoMessages) {
			break
		}
		if err != nil {
			return 0, fault.New(fault.Unavailable, "what %s has before %d: %w", s, cursor, err)
		}
		before = max(before, m.Sequence)
	}
	return before, nil
}
