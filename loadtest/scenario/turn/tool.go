package turn

import (
	"context"
	"errors"
	"fmt"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
)

// toolFlags are those of the command tool.
type toolFlags struct {
	bench.MeasureFlags

	cells           []exchange.Cell
	parked          parkedOptions
	race            raceOptions
	sessions, syncs string
}

const (
	goalTool = 2.5
)

func parseTool(args []string, p console.Printer) (toolFlags, error) {
	fs := p.Flags("tool")
	f := toolFlags{MeasureFlags: bench.MeasureFlags{Timing: bench.Timing{Text: exchange.NowText}}}
	f.Add(fs, bench.UsualTiming(), ". 0: no turns are measured")
	fs.StringVar(&f.sessions, "sessions", "1,64,512", "numbers of sessions that talk at the same time")
	fs.StringVar(&f.syncs, "sync", "interval,always", "modes of bus.sync")
	fs.IntVar(&f.parked.approvals, "parked", 10_000, "approvals that wait at the same time, each in a session of its own; 0: none")
	fs.IntVar(&f.parked.approve, "approve", 5, "of them, after all were looked at")
	fs.DurationVar(&f.parked.calm, "calm", bench.CalmTime, "until the daemon counts itself as idle: then its memory is read")
	fs.IntVar(&f.race.deciders, "race", 1000, "answers to one approval at the same time; 0: none")
	fs.IntVar(&f.race.conns, "connections", 50, "over which these come")
	if err := console.Parse(fs, args); err != nil {
		return f, err
	}
	if err := f.check(); err != nil {
		return f, console.Usage(err)
	}
	return f, nil
}

func (f *toolFlags) check() (err error) {
	if f.cells, err = cellsOf(f.sessions, f.syncs); err != nil {
		return err
	}
	switch {
	case f.Rounds < 0 || f.Timing.PerSession < 1 || f.Timing.Duration <= 0 || f.Timing.Warmup < 0:
		return errors.New("per-session and duration are at least 1, rounds and warmup are not negative")
	case f.parked.approvals < 0 || f.parked.approve < 0 || f.parked.calm < 0 || f.race.deciders < 0:
		return errors.New("parked, approve, calm and race are not negative")
	case f.parked.approvals > 0 && f.parked.approve > f.parked.approvals:
		return fmt.Errorf("approve is at most %d, which is how many are parked", f.parked.approvals)
	case f.race.conns < 1 || f.race.conns > 4000:
		return errors.New("connections are between 1 and 4000")
	}
	return nil
}

// toolReport is what --json prints. Durations are in nanoseconds, memory in bytes; fields are only added.
type toolReport struct {
	Turns  *turnReport     `json:"turns,omitempty"`
	Parked *parkedReport   `json:"parked,omitempty"`
	Race   *raceReport     `json:"race,omitempty"`
	Goals  []result.Figure `json:"goals"`
}

// ToolCommand measures turns with a call beside the floor, and what approvals cost and promise.
func ToolCommand(ctx context.Context, args []string, p console.Printer) error {
	f, err := parseTool(args, p)
	if err != nil {
		return err
	}
	return bench.Measured(ctx, f.Bench, f.Strict, p, func(ctx context.Context, b *bench.Bench) (toolReport, error) { return measureTool(ctx, b, f) })
}

func measureTool(ctx context.Context, b *bench.Bench, f toolFlags) (r toolReport, err error) {
	if f.Rounds > 0 {
		t, err := turns(ctx, b, f.cells, f.Timing, f.Rounds)
		if err != nil {
			return r, err
		}
		t.Goals = toolGoals(t.Lines)
		r.Turns, r.Goals = &t, append(r.Goals, t.Goals...)
	}
	if f.parked.approvals > 0 {
		parked, err := measureParked(ctx, b, f.parked)
		if err != nil {
			return r, fmt.Errorf("parked approvals: %w", err)
		}
		r.Parked, r.Goals = &parked, append(r.Goals, parked.Goals...)
	}
	if f.race.deciders > 0 {
		race, err := measureRace(ctx, b, f.race)
		if err != nil {
			return r, fmt.Errorf("race of decisions: %w", err)
		}
		r.Race, r.Goals = &race, append(r.Goals, race.Goals...)
	}
	return r, nil
}

func (r toolReport) All() []result.Figure { return r.Goals }

func (r toolReport) Promises() (out []result.Figure) {
	if r.Parked != nil {
		out = append(out, r.Parked.Goals...)
	}
	if r.Race != nil {
		out = append(out, r.Race.Goals...)
	}
	return out
}

func toolGoals(lines []turnLine) (out []result.Figure) {
	for _, l := range lines {
		if l.Sync == "interval" && l.Sessions == 1 {
			out = append(out, l.added(result.Goal(
				"added latency p50 of a turn with a call, 1 session, sync interval", fmt.Sprintf("≤ %.1f× bus floor", goalTool),
				fmt.Sprintf("%.2f× (%.2f ms, floor %.2f ms)", l.Ratios.AddedBusP50, stat.MS(l.Added.P50), stat.MS(l.BusTurn.P50)),
				l.Ratios.AddedBusP50 <= goalTool,
			).As("tool.added_p50"), p50))
		}
	}
	return out
}

func (r toolReport) Print(p console.Printer) {
	if r.Turns != nil {
		p.Say("A turn with one call of the tool now, over HTTP with an instant fake model: medians of %d rounds, times in ms as p50/p99.", r.Turns.Rounds)
		p.Say("turn: POST to reply at the client. added: message stored to answer stored, less the model's own time in both of its calls.")
		p.Say("bus: the same appends and deliveries on a bare nats-server. http: the same four exchanges, net/http only.\n")
		r.Turns.table(p)
		p.Say("")
	}
	if r.Parked != nil {
		r.Parked.say(p)
		p.Say("")
	}
	if r.Race != nil {
		r.Race.say(p)
	}
	bench.PrintGoals(p, r.Goals)
}
