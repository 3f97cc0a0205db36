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

// walked is how many events History reads one after the other. A longer past is read in batches by the session's subjects: the
// server looks through its journal for that, which costs less than so many questions, and more than a few.
const walked = 64

// History is all that the journal has of one session up to a cursor of its own, oldest first; to 0 means its last event. It
// walks along jc-prev, and what it reads in batches has to be that very chain. It begins at the session's last tombstone: what
// lies below that was deleted, purged or not yet. A session that nobody has written to has no events. With a hole in the chain
// the events above it come with a *HoleError; what lies below it is found by a Replay of the session.
func (c *Conn) History(ctx context.Context, s session.ID, to uint64) ([]envelope.Event, error) {
	if to == 0 {
		var err error
		if to, err = c.Journal().Last(ctx, s); err != nil {
			return nil, err
		}
	}
	newest, at, err := c.walk(ctx, s, nil, to, walked)
	if err == nil && at > 0 {
		older, whole, rerr := c.past(ctx, s, at)
		switch {
		case rerr != nil:
			return nil, rerr
		case whole:
			slices.Reverse(newest)
			return append(older, newest...), nil
		}
		newest, _, err = c.walk(ctx, s, newest, at, 0)
	}
	if _, hole := errors.AsType[*HoleError](err); err != nil && !hole {
		return nil, err
	}
	slices.Reverse(newest)
	return newest, err
}

// walk reads backwards from a cursor, at most so many events (0: all), and returns the cursor at which it would go on; 0 at the
// beginning. newest are those read before, the newest first.
func (c *Conn) walk(
	ctx context.Context, s session.ID, newest []envelope.Event, at uint64, most int,
) ([]envelope.Event, uint64, error) {
	for n := 0; at > 0 && (most == 0 || n < most); n++ {
		ev, err := c.Journal().Get(ctx, at)
		switch missing := errors.Is(err, ErrNoEvent) || err == nil && ev.Session != s; {
		case missing && len(newest) == 0:
			return nil, 0, fmt.Errorf("event %d of %s: %w", at, s, ErrNoEvent)
		case missing:
			return newest, 0, &HoleError{Session: s, At: newest[len(newest)-1].Cursor, Missing: at}
		case err != nil:
			return nil, 0, err
		}
		newest = append(newest, ev)
		if at = ev.Prev; ev.Kind() == tombstone {
			at = 0
		}
	}
	return newest, at, nil
}

// past reads a session's events up to a cursor in batches, oldest first, since its last tombstone. whole says that they are one
// chain from there, or from the beginning, to that cursor.
func (c *Conn) past(ctx context.Context, s session.ID, to uint64) (events []envelope.Event, whole bool, err error) {
	broken, last := false, uint64(0)
	err = c.Replay(ctx, ReplayOptions{Session: s, To: to}, func(ev envelope.Event) error {
		if ev.Kind() == tombstone {
			events, broken = events[:0], false
		} else if ev.Prev != last {
			broken = true
		}
		events, last = append(events, ev), ev.Cursor
		return nil
	})
	return events, !broken && last == to, err
}
