package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jetclaw/jetclaw/loadtest/result"
)

// turnFlags are those of the command turn.
type turnFlags struct {
	measureFlags

	cells           []cell
	past            past
	dormant         int
	sessions, syncs string
}

func parseTurn(args []string, p printer) (turnFlags, error) {
	fs := p.flags("turn")
	var f turnFlags
	f.add(fs, usualTiming(), "")
	fs.StringVar(&f.sessions, "sessions", "", `numbers of sessions that talk at the same time (default "1,8,64,512"; "1,8" with --history and --dormant)`)
	fs.StringVar(&f.syncs, "sync", "", `modes of bus.sync (default "interval,always"; "interval" with --history and --dormant)`)
	fs.IntVar(&f.past.messages, "history", 0, "instead of the floor: turns in sessions with so many messages, beside new ones")
	fs.IntVar(&f.past.bytes, "history-bytes", 200, "of each message of a history; the answers are as long")
	fs.IntVar(&f.dormant, "dormant", 0, "instead of the floor: turns beside so many dormant sessions, and without them")
	fs.DurationVar(&f.past.calm, "calm", calmTime, "until the daemon counts itself as idle: then its memory is read")
	if err := parse(fs, args); err != nil {
		return f, err
	}
	if err := f.check(); err != nil {
		return f, asUsage(err)
	}
	return f, nil
}

func (f *turnFlags) check() (err error) {
	sessions, syncs := "1,8,64,512", "interval,always"
	if f.past.messages > 0 || f.dormant > 0 {
		sessions, syncs = "1,8", "interval"
	}
	if f.cells, err = cellsOf(cmp.Or(f.sessions, sessions), cmp.Or(f.syncs, syncs)); err != nil {
		return err
	}
	switch {
	case f.rounds < 1 || f.timing.perSession < 1 || f.timing.duration <= 0 || f.timing.warmup < 0:
		return errors.New("rounds, per-session and duration are at least 1")
	case f.past.messages < 0 || f.dormant < 0 || f.past.calm < 0:
		return errors.New("history, dormant and calm are not negative")
	case f.past.bytes < 1 || f.past.bytes > maxHistoryBytes:
		return fmt.Errorf("history-bytes is between 1 and %d", maxHistoryBytes)
	case f.past.messages > 0 && f.dormant > 0:
		return errors.New("history and dormant are measured one at a time")
	}
	return nil
}

// turnCommand measures plain turns: beside the floor, or in sessions with a history, or beside dormant sessions.
func turnCommand(ctx context.Context, args []string, p printer) error {
	f, err := parseTurn(args, p)
	if err != nil {
		return err
	}
	return measured(ctx, f.bench, f.strict, p, func(ctx context.Context, b *bench) (report, error) {
		switch {
		case f.past.messages > 0:
			return b.history(ctx, f.cells, f.timing, f.rounds, f.past)
		case f.dormant > 0:
			return b.dormant(ctx, f.cells, f.timing, f.rounds, f.dormant, f.past.calm)
		}
		return b.turns(ctx, f.cells, f.timing, f.rounds)
	})
}

// maxHistoryBytes keeps the message within what the fake model repeats.
const maxHistoryBytes = 1900

func (r turnReport) all() []result.Figure    { return r.Goals }
func (r historyReport) all() []result.Figure { return r.Goals }
func (r dormantReport) all() []result.Figure { return r.Goals }

// Turns promise nothing that a slow machine could not break.
func (turnReport) promises() []result.Figure    { return nil }
func (historyReport) promises() []result.Figure { return nil }
func (dormantReport) promises() []result.Figure { return nil }

// turns measures beside the floor.
func (b *bench) turns(ctx context.Context, cells []cell, t timing, rounds int) (turnReport, error) {
	samples := map[cell][]sample{}
	for round := range rounds {
		for _, c := range cells {
			b.p.note("round %d of %d: sync %s, %d sessions", round+1, rounds, c.Sync, c.Sessions)
			s, err := b.measure(ctx, c, t, round)
			if err != nil {
				return turnReport{}, err
			}
			samples[c] = append(samples[c], s)
		}
	}
	r := turnReport{PerSession: t.perSession, Rounds: rounds}
	for _, c := range cells {
		r.Lines = append(r.Lines, lineOf(c, samples[c]))
	}
	r.Goals = turnGoals(r.Lines)
	return r, nil
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
