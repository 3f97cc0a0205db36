package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// history is all that the journal has of a session, oldest first. Where its chain has a hole, hole says so, and the events are
// all that can be read, on both sides of it. A session that nobody has written to is an error that names near ones.
func (s *shell) history(ctx context.Context, conn *bus.Conn, id session.ID) (events []envelope.Event, hole *bus.HoleError, err error) {
	events, err = conn.History(ctx, id, 0)
	if errors.As(err, &hole) {
		events = nil
		err = conn.Replay(ctx, bus.ReplayOptions{Session: id}, func(ev envelope.Event) error {
			events = append(events, ev)
			return nil
		})
	}
	if err == nil && len(events) == 0 {
		return nil, nil, s.noSession(ctx, conn, id)
	}
	return events, hole, err
}

// upTo are the events of a session at or below a cursor of the journal, which ends at end; 0 means all.
func upTo(events []envelope.Event, flag string, cursor, end uint64) ([]envelope.Event, error) {
	first, last := events[0].Cursor, events[len(events)-1].Cursor
	switch {
	case cursor == 0:
		return events, nil
	case cursor < first || cursor > max(last, end):
		return nil, usagef("%s %d: the events of the session are %d to %d, and the journal ends at %d", flag, cursor, first, last, max(last, end))
	}
	n := 0
	for n < len(events) && events[n].Cursor <= cursor {
		n++
	}
	return events[:n], nil
}

// holeText tells a person of a hole.
func holeText(h *bus.HoleError) string {
	return fmt.Sprintf("the journal has a hole: event %d of %s follows on event %d, which is not there", h.At, h.Session, h.Missing)
}
