// Package turn measures turns: plain ones (turn; with a history, or beside dormant sessions), and with a tool call (tool), of which many
// wait for a person, or one is decided by a thousand at once. All beside the floor of the same machine.
package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
)

// turnFlags are those of the command turn.
type turnFlags struct {
	bench.MeasureFlags

	cells           []exchange.Cell
	past            past
	dormant         int
	sessions, syncs string
}

func parseTurn(args []string, p console.Printer) (turnFlags, error) {
	fs := p.Flags("turn")
	var f turnFlags
	f.Add(fs, bench.UsualTiming(), "")
	fs.StringVar(&f.sessions, "sessions", "", `numbers of sessions that talk at the same time (default "1,8,64,512"; "1,8" with --history and --dormant)`)
	fs.StringVar(&f.syncs, "sync", "", `modes of bus.sync (default "interval,always"; "interval" with --history and --dormant)`)
	fs.IntVar(&f.past.messages, "history", 0, "instead of the floor: turns in sessions with so many messages, beside new ones")
	fs.IntVar(&f.past.bytes, "history-bytes", 200, "of each message of a history; the answers are as long")
	fs.IntVar(&f.dormant, "dormant", 0, "instead of the floor: turns beside so many dormant sessions, and without them")
	fs.DurationVar(&f.past.calm, "calm", bench.CalmTime, "until the daemon counts itself as idle: then its memory is read")
	if err := console.Parse(fs, args); err != nil {
		return f, err
	}
	if err := f.check(); err != nil {
		return f, console.Usage(err)
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
	case f.Rounds < 1 || f.Timing.PerSession < 1 || f.Timing.Duration <= 0 || f.Timing.Warmup < 0:
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

// Command measures plain turns: beside the floor, or in sessions with a history, or beside dormant sessions.
func Command(ctx context.Context, args []string, p console.Printer) error {
	f, err := parseTurn(args, p)
	if err != nil {
		return err
	}
	return bench.Measured(ctx, f.Bench, f.Strict, p, func(ctx context.Context, b *bench.Bench) (bench.Report, error) {
		switch {
		case f.past.messages > 0:
			return withHistory(ctx, b, f.cells, f.Timing, f.Rounds, f.past)
		case f.dormant > 0:
			return besideDormant(ctx, b, f.cells, f.Timing, f.Rounds, f.dormant, f.past.calm)
		}
		return turns(ctx, b, f.cells, f.Timing, f.Rounds)
	})
}

// maxHistoryBytes keeps the message within what the fake model repeats.
const maxHistoryBytes = 1900

func (r turnReport) All() []result.Figure    { return r.Goals }
func (r historyReport) All() []result.Figure { return r.Goals }
func (r dormantReport) All() []result.Figure { return r.Goals }

// Turns promise nothing that a slow machine could not break.
func (turnReport) Promises() []result.Figure    { return nil }
func (historyReport) Promises() []result.Figure { return nil }
func (dormantReport) Promises() []result.Figure { return nil }

// turns measures beside the floor.
func turns(ctx context.Context, b *bench.Bench, cells []exchange.Cell, t bench.Timing, rounds int) (turnReport, error) {
	samples := map[exchange.Cell][]sample{}
	for round := range rounds {
		for _, c := range cells {
			b.P.Note("round %d of %d: sync %s, %d sessions", round+1, rounds, c.Sync, c.Sessions)
			s, err := measure(ctx, b, c, t, round)
			if err != nil {
				return turnReport{}, err
			}
			samples[c] = append(samples[c], s)
		}
	}
	r := turnReport{PerSession: t.PerSession, Rounds: rounds}
	for _, c := range cells {
		r.Lines = append(r.Lines, lineOf(c, samples[c]))
	}
	r.Goals = turnGoals(r.Lines)
	return r, nil
}

func cellsOf(sessions, syncs string) ([]exchange.Cell, error) {
	var out []exchange.Cell
	for sync := range strings.SplitSeq(syncs, ",") {
		if sync != "interval" && sync != "always" {
			return nil, fmt.Errorf("sync %q: want interval or always", sync)
		}
		for n := range strings.SplitSeq(sessions, ",") {
			k, err := strconv.Atoi(n)
			if err != nil || k < 1 || k > 4000 {
				return nil, fmt.Errorf("sessions %q: want numbers from 1 to 4000", n)
			}
			out = append(out, exchange.Cell{Sync: sync, Sessions: k})
		}
	}
	return out, nil
}
