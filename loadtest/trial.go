package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fakemodel"
)

// chance is what a run draws: one seed has the same texts, delays and instants again.
type chance struct {
	seed  uint64
	delay fakemodel.Delay // of the model

	text string // of the delay, as it was given
}

// add begins the flags of a command: of says what is drawn, delay is how long the model usually takes, with a remark of the command.
func (c *chance) add(fs *flag.FlagSet, of, delay, remark string) {
	fs.Uint64Var(&c.seed, "seed", 0, "of "+of+"; 0: random, and printed")
	fs.StringVar(&c.text, "delay", delay, "of the model"+remark)
}

// draw is for when the flags are parsed: a seed is drawn unless one was given.
func (c *chance) draw() (err error) {
	if c.delay, err = fakemodel.ParseDelay(c.text); err != nil {
		return asUsage(err)
	}
	if c.seed == 0 {
		c.seed = rand.Uint64()
	}
	return nil
}

// tried is what a run has come to that was to break something.
type tried interface {
	told
	story() story
}

// try is a whole command that tries to break jetclaw: what do has come to within the limit is told, and so is the story of it when
// something is broken.
func try[R tried](ctx context.Context, f benchFlags, c chance, limit time.Duration, p printer, do func(context.Context, *bench) (R, error)) (r R, err error) {
	b, err := newBench(ctx, f, p)
	if err != nil {
		return r, err
	}
	defer b.close()
	p.note("seed %d", c.seed)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done within %s", limit))
	defer cancel()
	r, err = do(ctx, b)
	if err := b.tell(ctx, r, err); err != nil {
		return r, err
	}
	if s := r.story(); len(s.Verdict.Violations) > 0 {
		b.keep = true
		s.print(p)
		return r, errBroken
	}
	return r, nil
}
