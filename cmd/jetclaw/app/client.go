package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/lifecycle"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
)

// Client is a connection of the command line.
type Client struct {
	Conn   *bus.Conn // as the user "cli"
	Models string    // which model answers, as whoever calls it says; "" when that is not known
	At     string    // "process 4711", "nats://…"; "" when everything runs in this process

	dial dialer
}

// Admin connects as the owner of the topology, who alone may purge. The caller closes the connection.
func (c Client) Admin(ctx context.Context) (*bus.Conn, error) {
	conn, err := c.dial(ctx, bus.Admin)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ownerKey(err)
	}
	return conn, err
}

// WithServices lets fn talk to a jetclaw: the one at remote.url, the running daemon of the home, or one in this process
// that lives as long as fn and opens no port. It returns fn's error, or why there was no jetclaw to talk to. When fn has
// succeeded, one in this process finishes what it has begun before it stops.
func (e Env) WithServices(ctx context.Context, fn func(context.Context, Client) error) error {
	return e.with(ctx, everything(), fn)
}

// WithJournal is WithServices for who only reads: in this process no service is started.
func (e Env) WithJournal(ctx context.Context, fn func(context.Context, Client) error) error {
	return e.with(ctx, Target{Server: true}, fn)
}

// WithReading is WithJournal for who asks the read model: in this process that is the one service that is started, and what
// has happened since it last ran it reads in the background.
func (e Env) WithReading(ctx context.Context, fn func(context.Context, Client) error) error {
	return e.with(ctx, Target{Server: true, Services: []string{reading}}, fn)
}

// WithDaemon is WithServices for who wants nothing to be started: without a jetclaw that runs it is an error.
func (e Env) WithDaemon(ctx context.Context, fn func(context.Context, Client) error) error {
	_, err := e.revisit(ctx, fn)
	return err
}

// reading is the name of the service that has the read model.
const reading = "conversations"

func (e Env) with(ctx context.Context, t Target, fn func(context.Context, Client) error) error {
	if e.Config.Remote.URL != "" {
		return e.visitRemote(ctx, fn)
	}
	if err := e.Home.Create(); err != nil {
		return err
	}
	lock, at, err := e.lockOrFind(ctx)
	if err != nil {
		return err
	}
	if lock == nil {
		return e.visitDaemon(ctx, at, fn)
	}
	return errors.Join(e.inProcess(ctx, t, fn), lock.Release())
}

const (
	startingTime = 30 * time.Second // for a daemon that is just starting
	briefTime    = 3 * time.Second  // for a command that has the home for itself: most are done by then
	lookAgain    = 50 * time.Millisecond
)

// lockOrFind takes the home, or finds the daemon that has it. A daemon that is starting is waited for.
func (e Env) lockOrFind(ctx context.Context) (*home.Lock, home.Endpoint, error) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	var noOne home.Endpoint
	told := false
	began := time.Now()
	for until := began.Add(startingTime); ; {
		lock, err := e.acquire(false)
		var held *home.HeldError
		if !errors.As(err, &held) {
			return lock, noOne, err
		}
		at, err := e.Home.Endpoint()
		switch {
		case err == nil:
			return nil, at, nil
		case !errors.Is(err, home.ErrNoEndpoint):
			return nil, noOne, err
		case held.Holder.PID != 0 && !held.Holder.Serves && time.Since(began) > briefTime, time.Now().After(until):
			return nil, noOne, held
		}
		if !told && held.Holder.Serves && held.Holder.PID != 0 { // it may take as long as a big journal needs to open
			e.Notice(fmt.Sprintf("process %d is starting; waiting for it", held.Holder.PID))
			told = true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, noOne, context.Cause(ctx)
		}
	}
}

// visitDaemon connects to the home's daemon.
func (e Env) visitDaemon(ctx context.Context, at home.Endpoint, fn func(context.Context, Client) error) error {
	c := Client{At: fmt.Sprintf("process %d", at.PID), Models: at.Models}
	return e.visit(ctx, Away{URL: at.URL, Creds: e.Home.Keys()}, c, fn)
}

// visitRemote connects to the jetclaw at remote.url.
func (e Env) visitRemote(ctx context.Context, fn func(context.Context, Client) error) error {
	at := e.remote()
	return e.visit(ctx, at, Client{At: at.URL}, fn)
}

// visit connects to a jetclaw that runs elsewhere.
func (e Env) visit(ctx context.Context, at Away, c Client, fn func(context.Context, Client) error) error {
	g, err := e.elsewhere(ctx, at, false)
	if err != nil {
		return err
	}
	c.dial = g.dial
	if c.Conn, err = g.dial(ctx, cliUser); err != nil {
		return err
	}
	err = explained(ctx, c.Conn, fn(ctx, c))
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), partTime)
	defer cancel()
	if cerr := c.Conn.Close(end); cerr != nil {
		e.Log.Debug("leave the bus", "error", cerr) // fn has had its answers: nothing is lost with the connection
	}
	return err
}

// partTime bounds the farewell of a visitor to a bus that may not answer.
const partTime = 500 * time.Millisecond

// inProcess starts a target, without doors, and stops it after fn.
func (e Env) inProcess(ctx context.Context, t Target, fn func(context.Context, Client) error) error {
	p, err := e.newParts(ctx, t, false)
	if err != nil {
		return err
	}
	g, err := e.embedded(false)
	if err != nil {
		return err
	}
	g.add(p, t)
	c := Client{Models: p.models, dial: g.dial}
	guest := newWorker(cliUser, g.dial, func(conn *bus.Conn) (lifecycle.Service, error) {
		c.Conn = conn
		return &visitor{fn: func(ctx context.Context) error {
			e.note(p)
			err := fn(ctx, c)
			if err == nil {
				g.server.quiet(ctx, e.Log)
			}
			return err
		}}, nil
	})
	g.modules = append(g.modules, lifecycle.Module{Name: cliUser, Service: guest})
	return g.untilLeft(ctx, e.Log)
}

// untilLeft runs a group with a visitor in it until that has left, and returns what it came to.
func (g *group) untilLeft(ctx context.Context, log *slog.Logger) error {
	options := lifecycle.DefaultOptions()
	options.Log = log
	err := lifecycle.Run(ctx, options, g.modules...)
	var left *leave
	switch {
	case errors.As(err, &left):
		return left.err
	case err == nil: // asked to stop before it began
		return context.Cause(ctx)
	}
	return err
}

// visitor runs a function as a service: its end, with or without an error, stops the group.
type visitor struct {
	fn func(context.Context) error
}

// leave is the end of a visitor.
type leave struct{ err error }

func (l *leave) Error() string { return "the visitor has left" }

// Run runs the function once.
func (v *visitor) Run(ctx context.Context) error { return &leave{v.fn(ctx)} }

// Ready returns at once.
func (v *visitor) Ready(context.Context) error { return nil }
