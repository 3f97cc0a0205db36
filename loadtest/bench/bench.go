// Package bench is what every scenario stands on: a temporary directory, a built jetclaw, daemons that are started on homes, and an output
// for what was measured.
package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/product/cluster"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
)

// Bench is what every scenario stands on: a temporary directory and a binary.
type Bench struct {
	Dir    string
	Binary string
	Keep   bool // the directory, when it is closed
	P      console.Printer

	to *output
}

// Measured is a whole command that has a bench and goals: what do has come to is told, and it is an error when it breaks a promise.
func Measured[R Report](ctx context.Context, f Flags, strict bool, p console.Printer, do func(context.Context, *Bench) (R, error)) error {
	b, err := New(ctx, f, p)
	if err != nil {
		return err
	}
	defer b.Close()
	r, err := do(ctx, b)
	return b.conclude(ctx, strict, r, err)
}

// Shown is a whole command that has a bench and promises nothing: what do has come to is told.
func Shown[R Told](ctx context.Context, f Flags, p console.Printer, do func(context.Context, *Bench) (R, error)) error {
	b, err := New(ctx, f, p)
	if err != nil {
		return err
	}
	defer b.Close()
	r, err := do(ctx, b)
	return b.Tell(ctx, r, err)
}

// How long things may take, or need.
const (
	buildTime = 10 * time.Minute
	ReadyTime = 30 * time.Second // of a daemon, from exec
	StopTime  = 30 * time.Second // of a process, from SIGTERM
	IdleTime  = 3 * time.Second  // until the memory of a start-up is given back
	CalmTime  = 30 * time.Second // after turns, until the daemon counts itself as idle and gives memory back
	RestPoll  = time.Second      // between two looks at whether all is at rest
)

// New makes the directory and, where no binary is given, builds it.
func New(ctx context.Context, f Flags, p console.Printer) (*Bench, error) {
	dir, err := os.MkdirTemp("", "jetclaw-loadtest-")
	if err != nil {
		return nil, err
	}
	b := &Bench{Dir: dir, Binary: *f.Binary, Keep: *f.keep, to: f.output, P: p}
	if b.Binary == "" {
		p.Note("building jetclaw …")
		ctx, cancel := context.WithTimeout(ctx, buildTime)
		defer cancel()
		if b.Binary, err = daemon.Build(ctx, dir); err != nil {
			b.Close()
			return nil, err
		}
	}
	return b, nil
}

// NATS is a nats-server: the given one, or it is built.
func (b *Bench) NATS(ctx context.Context, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	b.P.Note("building nats-server …")
	return cluster.BuildNATS(ctx, b.Dir)
}

// Close removes everything, unless it is to be kept.
func (b *Bench) Close() {
	if b.Keep {
		b.P.Note("kept: %s", b.Dir)
		return
	}
	_ = os.RemoveAll(b.Dir)
}

// Told is what a command has come to, as it is printed.
type Told interface {
	Print(p console.Printer) // for people
	Fill(r *result.Result)   // with figures, and what there are pictures of
}

// Tell prints what a command has come to. err says why it came to nothing: what lies in the directory then may tell more.
func (b *Bench) Tell(ctx context.Context, r Told, err error) error {
	if err != nil {
		b.Keep = true
		return err
	}
	return b.to.tell(ctx, r, b.P)
}

// Report is what a command has come to that has goals.
type Report interface {
	Told

	All() []result.Figure
	Promises() []result.Figure // of them: those that no machine is too slow for
}

// conclude is the end of a command: it prints the report, and says whether a promise was broken or, if strict, a goal missed.
func (b *Bench) conclude(ctx context.Context, strict bool, r Report, err error) error {
	if err := b.Tell(ctx, r, err); err != nil {
		return err
	}
	missed := func(g result.Figure) bool { return !g.Met }
	if slices.ContainsFunc(r.Promises(), missed) {
		b.Keep = true
		return console.ErrBroken
	}
	if strict && slices.ContainsFunc(r.All(), missed) {
		return console.ErrBroken
	}
	return nil
}

// Running is a daemon that answers.
type Running struct {
	daemon.Home
	*daemon.Process
	ReadyAfter time.Duration // from exec
	Token      string        // of its HTTP channel
}

// Home makes a home; name is unique in the bench.
func (b *Bench) Home(name, sync, modelURL string) (daemon.Home, error) {
	return b.HomeOf(name, daemon.Config{Sync: sync, ModelURL: modelURL})
}

// HomeOf makes a home that listens on a free port.
func (b *Bench) HomeOf(name string, c daemon.Config) (daemon.Home, error) {
	var err error
	if c.Listen, err = daemon.FreeAddress(); err != nil {
		return daemon.Home{}, err
	}
	return daemon.NewHome(filepath.Join(b.Dir, name), c)
}

// Start runs the daemon on a home and waits until it answers.
func (b *Bench) Start(ctx context.Context, h daemon.Home) (*Running, error) {
	p, err := daemon.Start(b.Binary, h)
	if err != nil {
		return nil, err
	}
	r := &Running{Home: h, Process: p}
	ctx, cancel := context.WithTimeoutCause(ctx, ReadyTime, errors.New("it had its time"))
	defer cancel()
	at, err := p.Ready(ctx, h)
	if err == nil {
		r.ReadyAfter = at.Sub(p.Started)
		r.Token, err = h.Token()
	}
	if err != nil {
		p.Kill()
		return nil, fmt.Errorf("start on %s: %w", h.Dir, err)
	}
	return r, nil
}

// Client speaks to it over so many connections.
func (r *Running) Client(conns int) *client.Client { return client.New(r.URL(), r.Token, conns) }
