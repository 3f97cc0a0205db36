// Package trial is what all runs share that are to break jetclaw: a seed, a limit of time, the lives of a daemon that is killed, and the story
// of what was broken. A scenario begins with Try, and hands back a Tried.
package trial

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
)

// Chance is what a run draws: one seed has the same texts, delays and instants again.
type Chance struct {
	Seed  uint64
	Delay fakemodel.Delay // of the model

	Text string // of the delay, as it was given
}

// Add begins the flags of a command: of says what is drawn, delay is how long the model usually takes, with a remark of the command.
func (c *Chance) Add(fs *flag.FlagSet, of, delay, remark string) {
	fs.Uint64Var(&c.Seed, "seed", 0, "of "+of+"; 0: random, and printed")
	fs.StringVar(&c.Text, "delay", delay, "of the model"+remark)
}

// Draw is for when the flags are parsed: a seed is drawn unless one was given.
func (c *Chance) Draw() (err error) {
	if c.Delay, err = fakemodel.ParseDelay(c.Text); err != nil {
		return console.Usage(err)
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	return nil
}

// Tried is what a run has come to that was to break something.
type Tried interface {
	bench.Told
	Story() Story
}

// Try is a whole command that tries to break jetclaw: what do has come to within the limit is told, and so is the story of it when
// something is broken.
func Try[R Tried](
	ctx context.Context, f bench.Flags, c Chance, limit time.Duration, p console.Printer, do func(context.Context, *bench.Bench) (R, error),
) (r R, err error) {
	b, err := bench.New(ctx, f, p)
	if err != nil {
		return r, err
	}
	defer b.Close()
	p.Note("seed %d", c.Seed)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done within %s", limit))
	defer cancel()
	r, err = do(ctx, b)
	if err := b.Tell(ctx, r, err); err != nil {
		return r, err
	}
	if s := r.Story(); len(s.Verdict.Violations) > 0 {
		b.Keep = true
		s.Print(p)
		return r, console.ErrBroken
	}
	return r, nil
}
