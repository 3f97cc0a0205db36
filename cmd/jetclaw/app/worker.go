package app

import (
	"context"
	"errors"
	"sync"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/lifecycle"
)

// dialer opens the connection of a user, to the embedded server or elsewhere.
type dialer func(ctx context.Context, user string) (*bus.Conn, error)

// worker is a service on a connection of its own, as a module: connected before it is made, closed after it has drained.
type worker struct {
	user string
	dial dialer
	make func(*bus.Conn) (lifecycle.Service, error)
	made chan lifecycle.Service // holds the service once it is made
	// check says why the service could not work on a bus that others take care of; nil where the bus is this process's own.
	check func(context.Context, *bus.Conn) error
}

func newWorker(user string, dial dialer, build func(*bus.Conn) (lifecycle.Service, error)) *worker {
	return &worker{user: user, dial: dial, make: build, made: make(chan lifecycle.Service, 1)}
}

// Run connects, makes the service and runs it.
func (w *worker) Run(ctx context.Context) error {
	conn, err := w.dial(ctx, w.user)
	if err != nil {
		return err
	}
	if w.check != nil {
		err = w.check(ctx, conn)
	}
	if err == nil {
		err = w.serve(ctx, conn)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	return errors.Join(err, conn.Close(end))
}

func (w *worker) serve(ctx context.Context, conn *bus.Conn) error {
	svc, err := w.make(conn)
	if err != nil {
		return err
	}
	w.made <- svc
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

// Ready waits until the service is.
func (w *worker) Ready(ctx context.Context) error {
	select {
	case svc := <-w.made:
		return svc.Ready(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}
