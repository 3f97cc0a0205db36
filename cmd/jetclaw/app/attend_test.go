package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

// up runs a home's daemon until the returned function is called.
func (e Env) up(t *testing.T) (r Report, down func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan Report, 1), make(chan error, 1)
	go func() {
		ended <- e.Run(ctx, Daemon{Target: Target{Server: true}, Ready: func(r Report) { ready <- r }})
	}()
	down = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(down)
	select {
	case r = <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	return r, down
}

// attended is Attend in a goroutine of its own.
type attended struct {
	notices chan string
	calls   chan string // where each call of fn is
	over    chan error  // what fn returns, once it has one
	ended   chan error  // what Attend returns
	gone    chan error  // why the context of a call ended
	leave   func()      // the person goes
}

func attend(t *testing.T, e Env) *attended {
	t.Helper()
	return attendWith(t, e, func(string) {})
}

func attendWith(t *testing.T, e Env, noticed func(string)) *attended {
	t.Helper()
	a := &attended{
		notices: make(chan string, 10), calls: make(chan string, 10), over: make(chan error, 1), ended: make(chan error, 1), gone: make(chan error, 10),
	}
	e.Notice = func(text string) {
		noticed(text)
		a.notices <- text
	}
	ctx, leave := context.WithCancel(t.Context())
	a.leave = leave
	t.Cleanup(leave)
	go func() {
		a.ended <- e.Attend(ctx, func(ctx context.Context, c Client) error {
			_, err := c.Conn.Journal().Usage(ctx)
			if err != nil {
				return err
			}
			a.calls <- c.At
			if c.At == "" {
				return nil
			}
			select {
			case err := <-a.over:
				return err
			case <-ctx.Done():
				a.gone <- context.Cause(ctx)
				return ctx.Err()
			}
		})
	}()
	return a
}

func next[T comparable](t *testing.T, from chan T, want T) {
	t.Helper()
	select {
	case got := <-from:
		if got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatalf("waited in vain for %v", want)
	}
}

// TestAttendOverRestarts begins without a daemon, and then sees one after another.
func TestAttendOverRestarts(t *testing.T) {
	e := newEnv(t)
	a := attend(t, e)
	next(t, a.calls, "")
	next(t, a.notices, "no daemon runs; waiting for one")
	for range 2 {
		_, down := e.up(t) // it could not if the home were held
		next(t, a.notices, "a daemon is there; going on")
		if at := <-a.calls; at == "" {
			t.Error("in this process, although there is a daemon")
		}
		down()
		next(t, a.gone, errGone)
		next(t, a.notices, "the daemon is away; waiting")
	}
	e.up(t)
	next(t, a.notices, "a daemon is there; going on")
	<-a.calls
	boom := errors.New("boom")
	a.over <- boom
	next(t, a.ended, boom)
}

func TestAttendIsLeft(t *testing.T) {
	e := newEnv(t)
	a := attend(t, e)
	next(t, a.calls, "")
	<-a.notices
	a.leave()
	if err := <-a.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("left while it waits: %v", err)
	}
	_, down := e.up(t)
	a = attend(t, e)
	<-a.calls
	a.leave()
	if err := <-a.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("left while it looks: %v", err)
	}
	a = attend(t, e)
	<-a.calls
	a.over <- nil
	next(t, a.ended, nil)
	down()
}

// TestAttendPassesStrangersBy: what a killed daemon has left behind may name the port of somebody else by now.
func TestAttendPassesStrangersBy(t *testing.T) {
	e, other := newEnv(t), newEnv(t)
	strange, _ := other.up(t)
	endpoint := func() {
		data := fmt.Sprintf(`{"pid": 1, "url": %q}`, strange.Bus)
		if err := os.WriteFile(filepath.Join(e.Home.Dir(), "run", "endpoint.json"), []byte(data), 0o600); err != nil {
			t.Error(err)
		}
	}
	a := attendWith(t, e, func(notice string) {
		if notice == "no daemon runs; waiting for one" {
			endpoint() // before anybody is looked for: it is as if it had been left behind
		}
	})
	next(t, a.calls, "")
	<-a.notices
	_, down := e.up(t)
	next(t, a.notices, "a daemon is there; going on")
	<-a.calls
	down()
	next(t, a.gone, errGone)
	<-a.notices
	endpoint() // and now it is news
	if err := <-a.ended; fault.KindOf(err) != fault.Denied {
		t.Errorf("got %v", err)
	}
}
