package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// replayFlags are those of the command replay.
type replayFlags struct {
	bench    benchFlags
	events   int
	rounds   int
	explains int
	doctors  int
	home     string
	strict   bool
	limit    time.Duration
}

func parseReplay(args []string, p printer) (replayFlags, error) {
	fs := p.flags("replay")
	f := replayFlags{bench: addBenchFlags(fs)}
	fs.IntVar(&f.events, "events", 200_000, "that the journal is to have; a plain turn is about five")
	fs.IntVar(&f.rounds, "rounds", 3, "of all that is compared, in turn; the report has medians")
	fs.IntVar(&f.explains, "explains", 5, "runs of `jetclaw explain` in a round, beside a daemon and without one each")
	fs.IntVar(&f.doctors, "doctors", 3, "runs of `jetclaw doctor` in a round")
	fs.StringVar(&f.home, "home", "", "a home whose journal is copied, instead of making one; a daemon then goes on with what is open in it,\n"+
		"with a fake model and without its channels. The home itself is not touched")
	addStrict(fs, &f.strict)
	fs.DurationVar(&f.limit, "limit", time.Hour, "for all of it")
	if err := parse(fs, args); err != nil {
		return f, err
	}
	if f.events < 1 || f.rounds < 1 || f.explains < 1 || f.doctors < 1 || f.limit <= 0 {
		return f, asUsage(errors.New("events, rounds, explains, doctors and limit are at least 1"))
	}
	return f, nil
}

// replayCommand measures what reads the journal: folding and checking it, beside raw reading; indexing it; explain and doctor.
func replayCommand(ctx context.Context, args []string, p printer) error {
	f, err := parseReplay(args, p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.limit, fmt.Errorf("not done within %s", f.limit))
	defer cancel()
	return measured(ctx, f.bench, f.strict, p, func(ctx context.Context, b *bench) (replayReport, error) { return b.replays(ctx, f) })
}
