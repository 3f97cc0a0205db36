package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/client"
	"github.com/jetclaw/jetclaw/loadtest/cluster"
	"github.com/jetclaw/jetclaw/loadtest/daemon"
	"github.com/jetclaw/jetclaw/loadtest/result"
)

// bench is what every scenario stands on: a temporary directory and a binary.
type bench struct {
	dir    string
	binary string
	keep   bool
	to     *output
	p      printer
}

type benchFlags struct {
	binary *string
	keep   *bool
	output *output
}

func addBenchFlags(fs *flag.FlagSet) benchFlags {
	return benchFlags{
		binary: fs.String("binary", "", "a built jetclaw; default: build ./cmd/jetclaw"),
		keep:   fs.Bool("keep", false, "keep the temporary directory with homes and logs"),
		output: addOutput(fs),
	}
}

// measureFlags are those of every command that measures in rounds.
type measureFlags struct {
	bench  benchFlags
	rounds int
	timing timing
	strict bool
}

// add begins a command's flags; usual is how long its measurements take, none says what there is with no rounds.
func (f *measureFlags) add(fs *flag.FlagSet, usual timing, none string) {
	f.bench = addBenchFlags(fs)
	fs.IntVar(&f.rounds, "rounds", 3, "of all that is compared, in turn; the report has medians"+none)
	fs.DurationVar(&f.timing.warmup, "warmup", usual.warmup, "of each measurement")
	fs.DurationVar(&f.timing.duration, "duration", usual.duration, "of each measurement")
	if usual.perSession > 0 {
		fs.IntVar(&f.timing.perSession, "per-session", usual.perSession, "turns until a session is replaced by a new one")
	}
	addStrict(fs, &f.strict)
}

func addStrict(fs *flag.FlagSet, strict *bool) {
	fs.BoolVar(strict, "strict", false, "exit 1 when a figure misses its goal, not only when a promise is broken")
}

// usualTiming is that of turns.
func usualTiming() timing {
	return timing{warmup: time.Second, duration: 4 * time.Second, perSession: 20}
}

// measured is a whole command that has a bench: what do has come to is told.
func measured[R report](ctx context.Context, f benchFlags, strict bool, p printer, do func(context.Context, *bench) (R, error)) error {
	b, err := newBench(ctx, f, p)
	if err != nil {
		return err
	}
	defer b.close()
	r, err := do(ctx, b)
	return b.conclude(ctx, strict, r, err)
}

// shown is a whole command that has a bench and promises nothing: what do has come to is told.
func shown[R told](ctx context.Context, f benchFlags, p printer, do func(context.Context, *bench) (R, error)) error {
	b, err := newBench(ctx, f, p)
	if err != nil {
		return err
	}
	defer b.close()
	r, err := do(ctx, b)
	return b.tell(ctx, r, err)
}

const (
	buildTime = 10 * time.Minute
	readyTime = 30 * time.Second
	stopTime  = 30 * time.Second
)

func newBench(ctx context.Context, f benchFlags, p printer) (*bench, error) {
	dir, err := os.MkdirTemp("", "jetclaw-loadtest-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, binary: *f.binary, keep: *f.keep, to: f.output, p: p}
	if b.binary == "" {
		p.note("building jetclaw …")
		ctx, cancel := context.WithTimeout(ctx, buildTime)
		defer cancel()
		if b.binary, err = daemon.Build(ctx, dir); err != nil {
			b.close()
			return nil, err
		}
	}
	return b, nil
}

// nats is a nats-server: the given one, or it is built.
func (b *bench) nats(ctx context.Context, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	b.p.note("building nats-server …")
	return cluster.BuildNATS(ctx, b.dir)
}

// close removes everything, unless it is to be kept.
func (b *bench) close() {
	if b.keep {
		b.p.note("kept: %s", b.dir)
		return
	}
	_ = os.RemoveAll(b.dir)
}

// told is what a command has come to, as it is printed.
type told interface {
	print(p printer)
	fill(r *result.Result) // with figures, and what there are pictures of
}

// tell prints what a command has come to. err says why it came to nothing: what lies in the directory then may tell more.
func (b *bench) tell(ctx context.Context, r told, err error) error {
	if err != nil {
		b.keep = true
		return err
	}
	return b.to.tell(ctx, r, b.p)
}

// report is what a command has come to that has goals.
type report interface {
	told

	all() []result.Figure
	promises() []result.Figure // those that no machine is too slow for
}

// conclude is the end of a command: it prints the report, and says whether a promise was broken or, if strict, a goal missed.
func (b *bench) conclude(ctx context.Context, strict bool, r report, err error) error {
	if err := b.tell(ctx, r, err); err != nil {
		return err
	}
	missed := func(g result.Figure) bool { return !g.Met }
	if slices.ContainsFunc(r.promises(), missed) {
		b.keep = true
		return errBroken
	}
	if strict && slices.ContainsFunc(r.all(), missed) {
		return errBroken
	}
	return nil
}

// running is a daemon that answers.
type running struct {
	daemon.Home
	*daemon.Process
	ReadyAfter time.Duration
	Token      string
}

// home makes a home; name is unique in the bench.
func (b *bench) home(name, sync, modelURL string) (daemon.Home, error) {
	return b.homeOf(name, daemon.Config{Sync: sync, ModelURL: modelURL})
}

// homeOf makes a home that listens on a free port.
func (b *bench) homeOf(name string, c daemon.Config) (daemon.Home, error) {
	var err error
	if c.Listen, err = daemon.FreeAddress(); err != nil {
		return daemon.Home{}, err
	}
	return daemon.NewHome(filepath.Join(b.dir, name), c)
}

// start runs the daemon on a home and waits until it answers.
func (b *bench) start(ctx context.Context, h daemon.Home) (*running, error) {
	p, err := daemon.Start(b.binary, h)
	if err != nil {
		return nil, err
	}
	r := &running{Home: h, Process: p}
	ctx, cancel := context.WithTimeoutCause(ctx, readyTime, errors.New("it had its time"))
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

func (r *running) client(conns int) *client.Client { return client.New(r.URL(), r.Token, conns) }
