package app

import (
	"context"
	"errors"
	"sync"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/lifecycle"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// dialer opens the connection of a user, to the embedded server or elsewhere.
type dialer func(ctx context.Context, user string) (*bus.Conn, error)

// worker is a service on a connection of its own, as a module: connected before it is made, closed after it has drained.
type worker struct {
	user string
	dial dialer
	make func(*bus.Conn) (lifecycle.Service, error)
	// check says why the service could not work on a bus that others take care of; nil where the bus is this process's own.
	check func(context.Context, *bus.Conn) error
	made  chan struct{} // closed once svc is set

	svc lifecycle.Service
}

func newWorker(user string, dial dialer, build func(*bus.Conn) (lifecycle.Service, error)) *worker {
	return &worker{user: user, dial: dial, make: build, made: make(chan struct{})}
}

// Run connects, makes the service and runs it.
func (w *worker) Run(ctx context.Context) error {
	conn, err := w.dial(ctx, w.user)
	if err != nil {
		return err
	}
	if w.check != nil {
		err = w.checked(ctx, conn)
	}
	if err == nil {
		err = w.serve(ctx, conn)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	return errors.Join(err, conn.Close(end))
}

// checked is check, whose silence is a *BusError.
func (w *worker) checked(ctx context.Context, conn *bus.Conn) error {
	err := w.check(ctx, conn)
	if k := fault.KindOf(err); k == fault.Unavailable || k == fault.Timeout {
		return &BusError{err}
	}
	return silent(err)
}

func (w *worker) serve(ctx context.Context, conn *bus.Conn) error {
	svc, err := w.make(conn)
	if err != nil {
		return err
	}
	w.svc = svc
	close(w.made)
	if w.check == nil {
		return svc.Run(ctx)
	}
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := conn.Outdated(run); err != nil {
			stop(err)
		}
	})
	err = svc.Run(run)
	cause := context.Cause(run)
	stop(nil)
	watching.Wait()
	if errors.Is(cause, bus.ErrNewer) {
		return cause
	}
	return err
}

// Ready waits until the service is. It may be asked again.
func (w *worker) Ready(ctx context.Context) error {
	select {
	case <-w.made:
		return w.svc.Ready(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}
