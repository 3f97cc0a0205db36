package bus

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Ring rings a service for a session, as the user Admin and as a timer does: durably, whether a worker of the service runs or
// not. It takes the place of a ring that nobody has settled yet, and of no timer that is still to ring. A ring only has the
// session looked at again; it is safe at any time, and lifts the quarantine that a machine's panic has put it under.
func Ring(ctx context.Context, admin *Conn, service string, s session.ID) error {
	subj := subject.Timer(service, s)
	if _, _, err := subject.ParseTimer(subj); err != nil {
		return fault.New(fault.Invalid, "ring %s for %s: %w", service, s, err)
	}
	if _, _, err := admin.publishAgain(ctx, &nats.Msg{Subject: subj}); err != nil {
		return fault.New(fault.Unavailable, "ring %s for %s: %w", service, s, err)
	}
	return nil
}

// RungBy says whether an event is a doorbell of the service.
func (s Spec) RungBy(ev envelope.Event) bool { return ringsFor(s.Doorbells, ev.Subject()) }
