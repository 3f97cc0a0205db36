package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// HoleError says that a session's chain is broken: an event names one before it that the journal does not have, and no
// tombstone explains it.
type HoleError struct {
	Session session.ID
	At      uint64 // cursor of the event above the hole
	Missing uint64 // cursor that its jc-prev names
}

func (e *HoleError) Error() string {
	return fmt.Sprintf("%s has a hole: event %d follows on event %d, which is not in the journal", e.Session, e.At, e.Missing)
}

// History is all that the journal has of one session up to a cursor of its own, oldest first; to 0 means its last event. It
// walks along jc-prev, so that it costs one read an event and does not depend on the size of the journal. It begins at the
// session's last tombstone: what lies below that was deleted, purged or not yet. A session that nobody has written to has no
// events. With a hole in the chain the events above it come with a *HoleError; what lies below it is found by a Replay of the
// session.
func (c *Conn) History(ctx context.Context, s session.ID, to uint64) ([]envelope.Event, error) {
	j := c.Journal()
	if to == 0 {
		var err error
		if to, err = j.Last(ctx, s); err != nil {
			return nil, err
		}
	}
	var events []envelope.Event
	var broken error
	for at := to; at > 0; {
		ev, err := j.Get(ctx, at)
		switch missing := errors.Is(err, ErrNoEvent) || err == nil && ev.Session != s; {
		case missing && len(events) == 0:
			return nil, fmt.Errorf("event %d of %s: %w", at, s, ErrNoEvent)
		case missing:
			broken = &HoleError{Session: s, At: events[len(events)-1].Cursor, Missing: at}
		case err != nil:
			return nil, err
		default:
			events = append(events, ev)
		}
		if broken != nil || events[len(events)-1].Kind() == tombstone {
			break
		}
		at = ev.Prev
	}
	slices.Reverse(events)
	return events, broken
}
