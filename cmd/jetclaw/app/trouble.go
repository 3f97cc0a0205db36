package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// BusError says that there is no bus to work on: it cannot be reached, nobody in it can answer, or it has not got a stream.
type BusError struct{ Err error }

func (e *BusError) Error() string { return e.Err.Error() }
func (e *BusError) Unwrap() error { return e.Err }

// connecting tells the two ways in which a connection is not made: the key or a certificate is refused, or nobody is there.
func connecting(err error) error {
	switch k := fault.KindOf(err); {
	case k == fault.Denied:
		return &CredsError{err}
	case k == fault.Unavailable, k == fault.Timeout:
		return &BusError{err}
	}
	return err
}

// explainTime is how long a bus is asked why something was not answered.
const explainTime = 2 * time.Second

// explained finds out whether the bus is why the command line has failed: its key is another user's; or nobody answers as there is no
// journal, without which no service stays.
func explained(ctx context.Context, c *bus.Conn, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, errGone) {
		return err
	}
	if len(c.Violations()) > 0 {
		asking, cancel := context.WithTimeout(ctx, explainTime)
		defer cancel()
		if refused, ok := errors.AsType[*bus.RefusedError](c.CheckUser(asking, permissionsOf(clients()[0]))); ok {
			return refused
		}
	}
	gone := errors.Is(err, jetstream.ErrStreamNotFound)
	if k := fault.KindOf(err); !gone && k != fault.Unavailable && k != fault.Timeout && !bus.Unanswered(err) {
		return err
	}
	if !c.NATS().IsConnected() {
		return &BusError{err}
	}
	switch why := lacks(ctx, c); {
	case why != nil:
		return why
	case gone: // another stream
		return &BusError{fmt.Errorf("%w; `jetclaw topology apply` makes it (with the key of the user %s)", err, bus.Admin)}
	}
	return err
}

// lacks is a *bus.MissingError where there is no journal, a *BusError where JetStream has nobody who could say, else nil.
func lacks(ctx context.Context, c *bus.Conn) error {
	asking, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	err := c.CheckJournal(asking)
	if missing, ok := errors.AsType[*bus.MissingError](err); ok {
		return missing
	}
	if ctx.Err() == nil && (bus.Unanswered(err) || fault.KindOf(err) == fault.Timeout) {
		return &BusError{fmt.Errorf("the bus does not answer for its journal: %w", err)}
	}
	return nil
}

// silent marks an error of JetStream when that is why.
func silent(err error) error {
	if bus.Unanswered(err) {
		return &BusError{err}
	}
	return err
}

// Patience is how a bus is waited for that has just been started. The zero value does not wait.
type Patience struct {
	Within time.Duration
	Tell   func(error) // before each pause; nil: nobody looks
}

const reachAgain = 250 * time.Millisecond

// reach repeats a connection that is not made as nobody is there.
func (p Patience) reach(ctx context.Context, connect func() (*bus.Conn, error)) (*bus.Conn, error) {
	for began := time.Now(); ; {
		c, err := connect()
		if _, away := errors.AsType[*BusError](err); !away || time.Since(began) >= p.Within {
			return c, err
		}
		if p.Tell != nil {
			p.Tell(err)
		}
		select {
		case <-time.After(reachAgain):
		case <-ctx.Done():
			return nil, err
		}
	}
}
