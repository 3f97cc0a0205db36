package bus

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// headerDue is when a timer was meant to ring: the server rings by its own clock.
const headerDue = "jc-due"

// SetTimer stores a timer that rings the connection's service for a session at a time (a scheduled message: NATS
// ADR-51). A service has one timer a session: a later call replaces it. It may ring early by clock differences, late
// by some 100 ms, and twice; it only rings.
func (c *Conn) SetTimer(ctx context.Context, s session.ID, at time.Time) error {
	m := &nats.Msg{
		Subject: subject.Schedule(c.service, s),
		// The raw header keeps the fraction of the second that nats.go's option cuts off.
		Header: nats.Header{
			"Nats-Schedule":        {"@at " + at.UTC().Format(time.RFC3339Nano)},
			"Nats-Schedule-Target": {subject.Timer(c.service, s)},
			headerDue:              {at.UTC().Format(time.RFC3339Nano)},
		},
	}
	if _, _, err := c.publishAgain(ctx, m); err != nil {
		return fault.New(fault.Unavailable, "timer of %s for %s: %w", c.service, s, err)
	}
	return nil
}
