package app

import (
	"context"
	"errors"

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
	made chan struct{} // closed once svc is set

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
	svc, err := w.make(conn)
	if err == nil {
		w.svc = svc
		close(w.made)
		err = svc.Run(ctx)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	return errors.Join(err, conn.Close(end))
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
