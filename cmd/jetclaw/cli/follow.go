package cli

import (
	"context"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// steady is how long a bus has to be followed to count as one that works.
const steady = 10 * time.Second

// follow is Conn.Follow for who watches for a long time: a bus that is away, or too slow to answer, is taken up again
// where it broke off, until that has not worked for a while.
func follow(ctx context.Context, conn *bus.Conn, part bus.ReplayOptions, fn func(envelope.Event) error) error {
	var failed error     // of fn: that is not the bus
	var broken time.Time // since when it has not worked; zero while it does
	for {
		began := time.Now()
		err := conn.Follow(ctx, part, func(e envelope.Event) error {
			if failed = fn(e); failed == nil {
				part.From, part.Since, broken = e.Cursor+1, time.Time{}, time.Time{}
			}
			return failed
		})
		kind := fault.KindOf(err)
		lasting := kind == fault.Denied || kind == fault.Invalid
		if err == nil || failed != nil || ctx.Err() != nil || lasting {
			return err
		}
		switch now := time.Now(); {
		case broken.IsZero() || now.Sub(began) > steady:
			broken = now
		case now.Sub(broken) > away:
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
