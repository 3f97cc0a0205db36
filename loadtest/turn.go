package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/daemon"
)

// turnCommand measures plain turns.
func turnCommand(ctx context.Context, args []string, p printer) error {
	fs := p.flags("turn")
	f := addBenchFlags(fs)
	sessions := fs.String("sessions", "1,8,64,512", "numbers of sessions that talk at the same time")
	syncs := fs.String("sync", "interval,always", "modes of bus.sync")
	rounds := fs.Int("rounds", 3, "of product and floors in turn; the report has medians")
	warmup := fs.Duration("warmup", time.Second, "of each measurement")
	duration := fs.Duration("duration", 4*time.Second, "of each measurement")
	perSession := fs.Int("per-session", 20, "turns until a session is replaced by a new one")
	strict := fs.Bool("strict", false, "exit 1 when a goal is missed, not only when a turn goes wrong")
	if err := parse(fs, args); err != nil {
		return err
	}
	cells, err := cellsOf(*sessions, *syncs)
	if err != nil {
		return usageError{err}
	}
	if *rounds < 1 || *perSession < 1 || *duration <= 0 || *warmup < 0 {
		return usageError{fmt.Errorf("rounds, per-session and duration are at least 1")}
	}
	b, err := newBench(ctx, f, p)
	if err != nil {
		return err
	}
	defer b.close()
	t := timing{warmup: *warmup, duration: *duration, perSession: *perSession}
	samples := map[cell][]sample{}
	for round := range *rounds {
		for _, c := range cells {
			p.note("round %d of %d: sync %s, %d sessions", round+1, *rounds, c.Sync, c.Sessions)
			s, err := b.measure(ctx, c, t, round)
			if err != nil {
				b.keep = true
				return err
			}
			samples[c] = append(samples[c], s)
		}
	}
	r := turnReport{PerSession: *perSession, Rounds: *rounds}
	for _, c := range cells {
		r.Lines = append(r.Lines, lineOf(c, samples[c]))
	}
	r.Goals = turnGoals(r.Lines)
	if *f.json {
		if err := json.NewEncoder(p.out).Encode(r); err != nil {
			return err
		}
	} else {
		r.print(p)
	}
	if *strict && slices.ContainsFunc(r.Goals, func(g goal) bool { return !g.Met }) {
		return errBroken
	}
	return nil
}

func cellsOf(sessions, syncs string) ([]cell, error) {
	var out []cell
	for sync := range strings.SplitSeq(syncs, ",") {
		if sync != "interval" && sync != "always" {
			return nil, fmt.Errorf("sync %q: want interval or always", sync)
		}
		for n := range strings.SplitSeq(sessions, ",") {
			k, err := strconv.Atoi(n)
			if err != nil || k < 1 || k > 4000 {
				return nil, fmt.Errorf("sessions %q: want numbers from 1 to 4000", n)
			}
			out = append(out, cell{Sync: sync, Sessions: k})
		}
	}
	return out, nil
}

// logTail is the end of a daemon's log, for an error.
func logTail(path string) string { return "the end of " + path + ":\n" + daemon.Tail(path, 3000) }
