package app

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// Attend is WithJournal for who stays, over any number of restarts. fn is called with each connection to a jetclaw, one
// after another. Its context ends when that connection is lost; Attend then says so, once, waits until a daemon can be
// reached again, wherever it listens by then, and calls fn anew. What fn has to say for itself ends it: an error that is
// no trouble with the lost connection, or a return without one while the connection stands.
//
// Without a daemon the journal is opened in this process for one call of fn, whose Client.At is "". Nothing can happen in
// it meanwhile and no daemon can start, so that fn only reads what there is and returns; then the home is free, and a
// daemon is waited for.
func (e Env) Attend(ctx context.Context, fn func(context.Context, Client) error) error {
	s := &stay{fn: fn}
	err := e.WithJournal(ctx, s.see)
	why := "the daemon is away; waiting"
	if s.alone {
		why = "no daemon runs; waiting for one"
	}
	for ctx.Err() == nil && (err == nil && s.alone || errors.Is(err, errGone)) {
		e.Notice(why)
		err = e.again(ctx, s)
		why = "the daemon is away; waiting"
	}
	return err
}

// errGone is the cause with which fn's context ends when its connection is lost.
var errGone = errors.New("the connection to jetclaw is lost")

// stay is what Attend knows from one connection to the next.
type stay struct {
	fn      func(context.Context, Client) error
	alone   bool // fn was called last in this process
	reached bool // fn was called at all
}

// see calls fn, until the connection is lost.
func (s *stay) see(ctx context.Context, c Client) error {
	s.alone, s.reached = c.At == "", true
	if s.alone {
		return s.fn(ctx, c)
	}
	return whileConnected(ctx, c.Conn, func(ctx context.Context) error { return s.fn(ctx, c) })
}

// whileConnected calls fn with a context that ends when the connection is lost; it then returns errGone, unless fn has something to
// say that is no trouble with the connection.
func whileConnected(ctx context.Context, conn *bus.Conn, fn func(context.Context) error) error {
	lost := conn.NATS().StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer conn.NATS().RemoveStatusListener(lost)
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-lost:
			cancel(errGone)
		case <-ctx.Done():
		}
	}()
	if !conn.NATS().IsConnected() { // it was lost before anybody listened
		cancel(errGone)
	}
	err := fn(ctx)
	gone := errors.Is(context.Cause(ctx), errGone)
	cancel(nil)
	<-ended
	if k := fault.KindOf(err); gone && (err == nil || k == fault.Unavailable || k == fault.Timeout || errors.Is(err, context.Canceled)) {
		return errGone
	}
	return err
}

const (
	againTime    = 200 * time.Millisecond // how often a daemon is looked for
	strangerTime = 5 * time.Second        // after somebody has refused us, in whose log that stands
)

// again waits until a jetclaw can be reached, and lets it be seen. The lock is left alone: to try it is to take it for a
// moment, in which a daemon that starts would find the home in use.
func (e Env) again(ctx context.Context, s *stay) error {
	stale, _ := e.Home.Endpoint() // one that was killed leaves its own behind; zero: none
	s.reached = false
	seen := func(ctx context.Context, c Client) error {
		e.Notice("a daemon is there; going on")
		return s.see(ctx, c)
	}
	for {
		wait := againTime
		at, err := e.revisit(ctx, seen)
		switch k := fault.KindOf(err); {
		case s.reached:
			return err
		case errors.Is(err, home.ErrNoEndpoint), k == fault.Unavailable:
		case k == fault.Denied && at != home.Endpoint{} && at == stale: // somebody else has its port by now
			wait = strangerTime
		default:
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// revisit tries once to reach the jetclaw at remote.url, or the one whose endpoint the home has now.
func (e Env) revisit(ctx context.Context, fn func(context.Context, Client) error) (at home.Endpoint, err error) {
	if e.Config.Remote.URL != "" {
		return at, e.visitRemote(ctx, fn)
	}
	if at, err = e.Home.Endpoint(); err != nil {
		return at, err
	}
	return at, e.visitDaemon(ctx, at, fn)
}
