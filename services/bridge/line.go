package bridge

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// line is the connection to the bus: at most one at a time, with times between in which there is none.
type line struct {
	mu       sync.Mutex
	conn     *bus.Conn     // guarded by mu; nil while there is none
	changed  chan struct{} // guarded by mu; closed and replaced with each change
	why      string        // guarded by mu; why there is none, as far as is known
	patience time.Duration
}

func newLine(patience time.Duration) *line {
	return &line{changed: make(chan struct{}), patience: patience}
}

func (l *line) set(c *bus.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn = c; c != nil {
		l.why = ""
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *line) now() (*bus.Conn, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn, l.changed
}

// get is the connection; it waits for one, but not for ever.
func (l *line) get(ctx context.Context) (*bus.Conn, error) {
	conn, _, err := l.use(ctx)
	return conn, err
}

// use is get, with a channel that is closed when the connection is no longer the one to use.
func (l *line) use(ctx context.Context) (*bus.Conn, <-chan struct{}, error) {
	var timeout <-chan time.Time
	for {
		conn, changed := l.now()
		if conn != nil {
			return conn, changed, nil
		}
		if timeout == nil {
			t := time.NewTimer(l.patience)
			defer t.Stop()
			timeout = t.C
		}
		select {
		case <-changed:
		case <-timeout:
			return nil, nil, l.away()
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// away says why nothing can be asked.
func (l *line) away() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != "" {
		return fault.New(fault.Unavailable, "jetclaw cannot be reached: %s", l.why)
	}
	return fault.New(fault.Unavailable, "jetclaw is not running, or cannot be reached: start it with `jetclaw run`, then try again")
}

func (l *line) because(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.why = why
}

const (
	tryTime  = 5 * time.Second // of one question
	tryAgain = 100 * time.Millisecond
)

// ask asks a service. A jetclaw that goes away meanwhile is waited for and asked again, so that it takes only questions that may be
// asked twice: those that change nothing, or name a key by which a repeat is known.
func ask[Res any](ctx context.Context, l *line, service, verb string, question any) (Res, error) {
	return askWithin[Res](ctx, l, tryTime, service, verb, question)
}

// askWithin is ask for a question that may take so long to answer.
func askWithin[Res any](ctx context.Context, l *line, each time.Duration, service, verb string, question any) (Res, error) {
	var none Res
	began := time.Now()
	for {
		conn, gone, err := l.use(ctx)
		if err != nil {
			return none, err
		}
		try, cancel := context.WithTimeout(ctx, each)
		stop := cancelOn(gone, cancel)
		res, err := bus.Ask[Res](try, conn, service, verb, question)
		stop()
		cancel()
		if fault.KindOf(err) == fault.Denied && len(conn.Violations()) > 0 {
			err = fault.New(fault.Denied, "this key may not ask %s.%s: it is not that of the user %s", service, verb, Name)
		}
		if err == nil || !mayPass(err) || ctx.Err() != nil {
			return res, err
		}
		if time.Since(began) > l.patience+each {
			if fault.KindOf(err) == fault.Unavailable && !conn.NATS().IsConnected() {
				err = l.away()
			}
			return none, err
		}
		select {
		case <-time.After(tryAgain):
		case <-ctx.Done():
			return none, context.Cause(ctx)
		}
	}
}

// cancelOn calls cancel when gone is closed, until stop is called: a question on a connection that is lost has no answer.
func cancelOn(gone <-chan struct{}, cancel func()) (stop func()) {
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-gone:
			cancel()
		case <-stopped:
		}
	}()
	return func() { close(stopped); <-ended }
}

// mayPass says whether the same question may have an answer a little later.
func mayPass(err error) bool {
	k := fault.KindOf(err)
	return k == fault.Unavailable || k == fault.Timeout || errors.Is(err, nats.ErrConnectionClosed)
}

// with does something on the connection, and again on the next one when that is lost meanwhile. It is for what only reads.
func with[Res any](ctx context.Context, l *line, do func(context.Context, *bus.Conn) (Res, error)) (Res, error) {
	began := time.Now()
	for {
		var none Res
		conn, gone, err := l.use(ctx)
		if err != nil {
			return none, err
		}
		try, cancel := context.WithCancel(ctx)
		stop := cancelOn(gone, cancel)
		res, err := do(try, conn)
		if try.Err() != nil && ctx.Err() == nil {
			err = fault.New(fault.Unavailable, "the connection to jetclaw was lost")
		}
		stop()
		cancel()
		if err == nil || !mayPass(err) || ctx.Err() != nil || time.Since(began) > l.patience {
			return res, err
		}
		select {
		case <-time.After(tryAgain):
		case <-ctx.Done():
			return none, context.Cause(ctx)
		}
	}
}
