package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/subject"
)

const (
	quietTime  = 3 * time.Second
	quietTick  = 2 * time.Millisecond
	quietAfter = 3 // looks in a row: an ack may lead to an event that rings somebody else
)

var errNotQuiet = errors.New("work is left for the next start")

// quiet waits until no service has a doorbell that waits or is not acked, so that a process that ends now leaves nothing
// behind. It is a courtesy to the next start, which would find and finish it: after quietTime it gives up.
func (s *server) quiet(ctx context.Context, log *slog.Logger) {
	ctx, cancel := context.WithTimeoutCause(ctx, quietTime, errNotQuiet)
	defer cancel()
	tick := time.NewTicker(quietTick)
	defer tick.Stop()
	for calm := 0; calm < quietAfter; {
		open, err := s.open(ctx)
		switch {
		case err != nil:
			log.Debug("stop without looking for open work", "error", err)
			return
		case open == 0:
			calm++
		default:
			calm = 0
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			log.Debug("stop", "open", open, "error", context.Cause(ctx))
			return
		}
	}
}

// open counts the doorbells that wait or are not acked.
func (s *server) open(ctx context.Context) (n int, err error) {
	for _, m := range specs() {
		if len(m.Doorbells) == 0 {
			continue
		}
		var c jetstream.Consumer
		if c, err = s.conn.JetStream().Consumer(ctx, subject.Journal, m.Name); err != nil {
			return 0, err
		}
		info := c.CachedInfo()
		n += int(info.NumPending) + info.NumAckPending
	}
	return n, nil
}
