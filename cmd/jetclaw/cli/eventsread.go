package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// errSeenEnough ends a reading that has all that is wanted.
var errSeenEnough = errors.New("enough events")

// within says whether the cursors that were given lie in the journal. Those of another journal, or of one that was restored
// from an older copy, would show nothing, or not what was meant.
func (w wanted) within(u bus.Usage) error {
	for _, cursor := range []uint64{max(w.part.From, 1) - 1, w.part.To} {
		switch {
		case cursor <= u.Last:
		case u.Last == 0:
			return fmt.Errorf("the journal has no cursor %d: it is empty", cursor)
		default:
			return fmt.Errorf("the journal has no cursor %d: it begins at %d and ends at %d", cursor, u.First, u.Last)
		}
	}
	return nil
}

// pastEvents shows what there is by now.
func (s *shell) pastEvents(ctx context.Context, conn *bus.Conn, w wanted, last int, p *printer) error {
	u, err := conn.Journal().Usage(ctx)
	if err == nil {
		err = w.within(u)
	}
	if err != nil {
		return err
	}
	progress := s.progress()
	defer progress.end()
	if last > 0 {
		found, err := w.newest(ctx, conn, last, u, progress.step)
		if err != nil {
			return err
		}
		progress.end()
		for _, e := range found {
			if err := p.print(e); err != nil {
				return err
			}
		}
	} else {
		err := conn.Replay(ctx, w.part, func(e envelope.Event) error {
			if p.printed == 0 { // later it would stand between the events
				progress.step()
			}
			if !w.match(e) {
				return nil
			}
			progress.end()
			return p.print(e)
		})
		if err != nil && !errors.Is(err, errSeenEnough) {
			return err
		}
	}
	if p.printed > 0 {
		return nil
	}
	progress.end()
	return s.nothing(ctx, conn, w, u)
}

// newestSpan is how many cursors are looked at first for the newest events.
const newestSpan = 512

// newest are the last n events that match, oldest first. It reads from the journal's end backwards, in ever longer pieces, so
// that the newest of a big journal cost little.
func (w wanted) newest(ctx context.Context, conn *bus.Conn, n int, u bus.Usage, step func()) ([]envelope.Event, error) {
	to := u.Last
	if w.part.To > 0 {
		to = w.part.To
	}
	first, err := w.first(ctx, conn, u)
	if err != nil {
		return nil, err
	}
	var found []envelope.Event
	for span := uint64(newestSpan); to >= first && len(found) < n; span *= 2 {
		from := max(first, to-min(to, span)+1)
		var piece []envelope.Event
		err := conn.Replay(ctx, bus.ReplayOptions{From: from, To: to, Session: w.part.Session}, func(e envelope.Event) error {
			step()
			if !w.match(e) {
				return nil
			}
			if len(piece) == n {
				piece = piece[1:]
			}
			piece = append(piece, e)
			return nil
		})
		if err != nil {
			return nil, err
		}
		found = append(piece, found...)
		to = from - 1
	}
	return found[max(0, len(found)-n):], nil
}

// first is the cursor where the part of the journal that is read begins; one above its end when it is empty.
func (w wanted) first(ctx context.Context, conn *bus.Conn, u bus.Usage) (uint64, error) {
	if w.part.Since.IsZero() {
		return max(w.part.From, u.First, 1), nil
	}
	first := u.Last + 1
	err := conn.Replay(ctx, w.part, func(e envelope.Event) error {
		first = e.Cursor
		return errSeenEnough
	})
	if errors.Is(err, errSeenEnough) {
		err = nil
	}
	return first, err
}
