// Package replay measures how fast a big journal is folded, checked and indexed again, beside the floor, and the tools of an operator on it.
package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
)

// flags are those of the command replay.
type flags struct {
	bench    bench.Flags
	events   int
	rounds   int
	explains int
	doctors  int
	home     string
	strict   bool
	limit    time.Duration
}

func parseReplay(args []string, p console.Printer) (flags, error) {
	fs := p.Flags("replay")
	f := flags{bench: bench.AddFlags(fs)}
	fs.IntVar(&f.events, "events", 200_000, "that the journal is to have; a plain turn is about five")
	fs.IntVar(&f.rounds, "rounds", 3, "of all that is compared, in turn; the report has medians")
	fs.IntVar(&f.explains, "explains", 5, "runs of `jetclaw explain` in a round, beside a daemon and without one each")
	fs.IntVar(&f.doctors, "doctors", 3, "runs of `jetclaw doctor` in a round")
	fs.StringVar(&f.home, "home", "", "a home whose journal is copied, instead of making one; a daemon then goes on with what is open in it,\n"+
		"with a fake model and without its channels. The home itself is not touched")
	bench.AddStrict(fs, &f.strict)
	fs.DurationVar(&f.limit, "limit", time.Hour, "for all of it")
	if err := console.Parse(fs, args); err != nil {
		return f, err
	}
	if f.events < 1 || f.rounds < 1 || f.explains < 1 || f.doctors < 1 || f.limit <= 0 {
		return f, console.Usage(errors.New("events, rounds, explains, doctors and limit are at least 1"))
	}
	return f, nil
}

// Command measures what reads the journal: folding and checking it, beside raw reading; indexing it; explain and doctor.
func Command(ctx context.Context, args []string, p console.Printer) error {
	f, err := parseReplay(args, p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.limit, fmt.Errorf("not done within %s", f.limit))
	defer cancel()
	return bench.Measured(ctx, f.bench, f.strict, p, func(ctx context.Context, b *bench.Bench) (report, error) { return measure(ctx, b, f) })
}
