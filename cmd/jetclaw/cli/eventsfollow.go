package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// watch is `events --follow`: what there is, then what comes, over any number of daemons. Each event is shown once and in order,
// as every connection goes on behind the last event that was seen.
type watch struct {
	want wanted // part begins behind what was seen
	last int    // how many of the newest to begin with; 0: all
	show func(envelope.Event) error

	seen uint64 // cursor; 0: nothing yet
	over error  // why nothing more is shown: enough, or the output is broken
}

// follow returns when enough was shown, or when the person has left.
func (w *watch) follow(ctx context.Context, e app.Env) error {
	err := e.Attend(ctx, w.attend)
	left := ctx.Err() != nil
	if w.over != nil {
		err, left = w.over, errors.Is(w.over, errSeenEnough)
	}
	if left {
		err = nil
	}
	return err
}

// attend goes on with one connection.
func (w *watch) attend(ctx context.Context, c app.Client) error {
	u, err := c.Conn.Journal().Usage(ctx)
	if err != nil {
		return err
	}
	if w.seen > u.Last {
		return fmt.Errorf("the journal ends at cursor %d now, and was shown up to %d: it is another one, or an older copy; begin again",
			u.Last, w.seen)
	}
	if err := w.want.within(u); err != nil {
		return err
	}
	if w.last > 0 {
		found, err := w.want.newest(ctx, c.Conn, w.last, u, func() {})
		if err != nil {
			return err
		}
		w.last = 0
		for _, e := range found {
			if err := w.see(e); err != nil {
				return err
			}
		}
		w.behind(u.Last)
	}
	if c.At == "" { // what could happen here, while the home is ours?
		err = c.Conn.Replay(ctx, w.want.part, w.see)
	} else {
		err = follow(ctx, c.Conn, w.want.part, w.see)
	}
	if w.over != nil {
		return w.over
	}
	return err
}

func (w *watch) see(e envelope.Event) error {
	w.behind(e.Cursor)
	if w.want.match(e) {
		w.over = w.show(e)
	}
	return w.over
}

// behind goes on after a cursor.
func (w *watch) behind(cursor uint64) {
	w.seen = cursor
	w.want.part.From, w.want.part.Since = cursor+1, time.Time{}
}
