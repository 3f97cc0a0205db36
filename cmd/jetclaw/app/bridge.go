package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/bridge"
)

// Outside says where a jetclaw is that is not the home's.
type Outside struct {
	URL   string           // of its bus; "": remote.url of the configuration, else the home's daemon
	Creds string           // file with the key of the user "bridge", or a folder; "": remote.creds, or the home's keys
	Seed  string           // the key itself, in place of a file
	Away  func(why string) // is told what a person has to do something about
}

// Bridge lets fn use the bus as the user "bridge", by one connection after another, until ctx ends or fn fails for another reason than
// a lost connection. A jetclaw that is away is waited for: nothing is started. What keeps it away is told once.
func (e Env) Bridge(ctx context.Context, o Outside, fn func(context.Context, *bus.Conn) error) error {
	resting := make(chan struct{})
	calm, stop := context.WithCancel(ctx)
	defer func() { stop(); <-resting }()
	go func() {
		defer close(resting)
		_ = idle{}.Run(calm) // it has nothing to say
	}()
	told := ""
	tell := func(text string) {
		if text != told && ctx.Err() == nil {
			e.Notice(text)
		}
		told = text
	}
	for first := true; first || ctx.Err() == nil; first = false { // a wrong key is told to a client, too, that has left already
		err := e.visitBridge(ctx, o, fn, func() {
			if told != "" {
				tell("a daemon is there; going on")
			}
		})
		wait := againTime
		switch k := fault.KindOf(err); {
		case err == nil, errors.Is(err, errGone):
			tell("the daemon is away; waiting")
		case errors.Is(err, home.ErrNoEndpoint):
			tell("no daemon runs; waiting for one: start it with `jetclaw run`")
		case o.wrong(err):
			return err
		case k == fault.Unavailable, k == fault.Timeout:
			tell("jetclaw cannot be reached; waiting")
			e.Log.Debug("the bus cannot be reached", "error", err)
		default:
			tell(err.Error())
			o.Away(err.Error())
			wait = strangerTime
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return nil
}

// wrong says whether an error is one of a key that somebody has named for this very purpose: to wait makes it no better. A key that a
// server refuses may be known to the one that is waited for.
func (o Outside) wrong(err error) bool {
	_, ok := errors.AsType[*CredsError](err)
	return ok && (o.Creds != "" || o.Seed != "") && fault.KindOf(err) != fault.Denied
}

// visitBridge lets fn use one connection. It returns nil when ctx has ended it, unless the key is wrong.
func (e Env) visitBridge(ctx context.Context, o Outside, fn func(context.Context, *bus.Conn) error, there func()) error {
	conn, err := e.dialBridge(ctx, o)
	if err == nil {
		defer e.part(ctx, conn)
		err = lacks(ctx, conn)
	}
	if err == nil {
		there()
		err = whileConnected(ctx, conn, func(ctx context.Context) error { return fn(ctx, conn) })
	}
	if ctx.Err() != nil && !o.wrong(err) {
		return nil // it was asked to leave
	}
	return err
}

// part ends a connection to a bus that may not answer any more.
func (e Env) part(ctx context.Context, conn *bus.Conn) {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), partTime)
	defer cancel()
	if err := conn.Close(end); err != nil {
		e.Log.Debug("leave the bus", "error", err)
	}
}

func (e Env) dialBridge(ctx context.Context, o Outside) (*bus.Conn, error) {
	at := e.remote()
	if o.URL != "" {
		at = Away{URL: o.URL, TLS: at.TLS}
	}
	if o.Creds != "" {
		at.Creds = o.Creds
	}
	if at.URL == "" {
		own, err := e.Home.Endpoint()
		if err != nil {
			return nil, err
		}
		at.URL = own.URL
		if at.Creds == "" && o.Seed == "" {
			at.Creds = e.Home.Keys()
		}
	}
	if o.Seed != "" {
		id, err := identityOf([]byte(o.Seed))
		if err != nil {
			return nil, &CredsError{fmt.Errorf("--token: %w", err)}
		}
		e.Secrets.Add(o.Seed, string(id.seed), id.jwt)
		secure, err := at.config()
		if err != nil {
			return nil, err
		}
		c, err := bus.Connect(ctx, bus.ConnOptions{Service: bridge.Name, URL: at.URL, Seed: id.seed, JWT: id.jwt, TLS: secure, Log: e.Log})
		return c, connecting(err)
	}
	g, err := e.elsewhere(ctx, at, false)
	if err != nil {
		return nil, err
	}
	return g.dial(ctx, bridge.Name)
}
