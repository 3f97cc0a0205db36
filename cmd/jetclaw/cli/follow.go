package cli

import (
	"context"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// follow is Conn.Follow for who watches for a long time: a bus that is away, or too slow to answer, is taken up again
// where it broke off, until that has not worked for a while.
func follow(ctx context.Context, conn *bus.Conn, part bus.ReplayOptions, fn func(envelope.Event) error) error {
	var failed error // of fn: that is not the bus
	since := time.Now()
	for {
		err := conn.Follow(ctx, part, func(e envelope.Event) error {
			if failed = fn(e); failed == nil {
				part.From, part.Since, since = e.Cursor+1, time.Time{}, time.Now()
			}
			return failed
		})
		kind := fault.KindOf(err)
		lasting := kind == fault.Denied || kind == fault.Invalid
		if err == nil || failed != nil || ctx.Err() != nil || lasting || time.Since(since) > away {
			return err
		}
		if err := pause(ctx, askAgain); err != nil {
			return err
		}
	}
}

// pause waits, or returns why it was cut short.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
