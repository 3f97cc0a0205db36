package bus

import (
	"context"
	"fmt"

	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Before is the cursor of a session's last message below a cursor; 0 when there is none. It is for stepping over a
// message that is no event and so does not say what it follows; a walk along jc-prev is cheaper.
func (j *Journal) Before(ctx context.Context, s session.ID, cursor uint64) (uint64, error) {
	if cursor <= 1 {
		return 0, nil
	}
	lasts, err := j.c.lasts(ctx, subject.Journal, []string{subject.OfSession(s)}, jetstreamext.GetLastMsgsUpToSeq(cursor-1))
	if err != nil {
		return 0, fmt.Errorf("what %s has before %d: %w", s, cursor, err)
	}
	before := uint64(0)
	for _, m := range lasts { // the last one of each subject
		before = max(before, m.Sequence)
	}
	return before, nil
}
