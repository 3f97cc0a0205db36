package backup

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// silence is how long a server may send nothing in the middle of a snapshot.
const silence = 30 * time.Second

// deliveries is a snapshot as it comes: chunks on an inbox, each answered with an empty message when it has been taken,
// so that the server sends no more than its window (8 MiB) ahead. An empty one ends it: with status 204 or none it is
// whole, with any other (408 when the reader was too slow or has gone, 500) it is not.
type deliveries struct {
	sub  *nats.Subscription
	rest []byte
	end  error // of all reads from now on
}

func newDeliveries(admin *bus.Conn, inbox string) (*deliveries, error) {
	sub, err := admin.NATS().SubscribeSync(inbox)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "%w", err)
	}
	return &deliveries{sub: sub}, nil
}

// close makes a server that still sends give up.
func (d *deliveries) close() error { return d.sub.Unsubscribe() }

// reader reads until ctx ends.
func (d *deliveries) reader(ctx context.Context) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		for len(d.rest) == 0 {
			if d.end == nil {
				d.rest, d.end = d.next(ctx)
			}
			if d.end != nil {
				return 0, d.end
			}
		}
		n := copy(p, d.rest)
		d.rest = d.rest[n:]
		return n, nil
	})
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func (d *deliveries) next(ctx context.Context) ([]byte, error) {
	waiting, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	m, err := d.sub.NextMsgWithContext(waiting)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fault.New(fault.Timeout, "the server has sent nothing for %s", silence)
	default:
		return nil, fault.New(fault.Unavailable, "%w", err)
	}
	if m.Reply != "" {
		if err := m.Respond(nil); err != nil {
			return nil, fault.New(fault.Unavailable, "%w", err)
		}
	}
	if len(m.Data) > 0 {
		return m.Data, nil
	}
	if status := m.Header.Get("Status"); status != "" && status != "204" {
		return nil, fault.New(fault.Unavailable, "the server gave up: %s %s", status, m.Header.Get("Description"))
	}
	return nil, io.EOF
}
