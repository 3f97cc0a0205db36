package turn

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/floor"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
)

// turnReport is what --json prints. Durations are in nanoseconds; fields are only added.
type turnReport struct {
	Rounds     int             `json:"rounds"`
	PerSession int             `json:"per_session"`
	Lines      []turnLine      `json:"lines"`
	Goals      []result.Figure `json:"goals"`
}

// turnLine has the medians of a cell's rounds.
type turnLine struct {
	exchange.Cell
	sample
	BusTurn stat.Spread `json:"floor_bus_turn"` // = floor_bus.answered, median
	Ratios  ratios      `json:"ratios"`

	rounds []sample
}

// ratios of the product to its floors; each is the median of the rounds' own.
type ratios struct {
	TurnBusP50   float64 `json:"turn_bus_p50"`
	TurnBusP99   float64 `json:"turn_bus_p99"`
	TurnBothP50  float64 `json:"turn_both_p50"` // to the sum of both floors
	TurnBothP99  float64 `json:"turn_both_p99"`
	AddedBusP50  float64 `json:"added_bus_p50"`
	AddedBusP99  float64 `json:"added_bus_p99"`
	RateBus      float64 `json:"rate_bus"`
	RateBoth     float64 `json:"rate_both"` // to what both floors would do one after the other
	FloorPerTurn int     `json:"floor_appends"`
}

func lineOf(c exchange.Cell, s []sample) turnLine {
	spread := func(f func(sample) stat.Spread) stat.Spread {
		var all []stat.Spread
		for _, x := range s {
			all = append(all, f(x))
		}
		return stat.MedianSpread(all)
	}
	number := func(f func(sample) float64) float64 {
		var all []float64
		for _, x := range s {
			all = append(all, f(x))
		}
		return stat.Median(all)
	}
	both := func(x sample) float64 { return 1 / (1/x.Bus.PerSecond + 1/x.HTTPPerSec) }
	l := turnLine{Cell: c, sample: sample{
		Turn:      spread(func(x sample) stat.Spread { return x.Turn }),
		Added:     spread(func(x sample) stat.Spread { return x.Added }),
		Model:     spread(func(x sample) stat.Spread { return x.Model }),
		HTTP:      spread(func(x sample) stat.Spread { return x.HTTP }),
		PerSecond: number(func(x sample) float64 { return x.PerSecond }),
		CPU:       time.Duration(number(func(x sample) float64 { return float64(x.CPU) })),
		RSS:       int64(number(func(x sample) float64 { return float64(x.RSS) })),
		Bus: floor.Result{
			Answered:  spread(func(x sample) stat.Spread { return x.Bus.Answered }),
			Stored:    spread(func(x sample) stat.Spread { return x.Bus.Stored }),
			Settled:   spread(func(x sample) stat.Spread { return x.Bus.Settled }),
			PerSecond: number(func(x sample) float64 { return x.Bus.PerSecond }),
			CPU:       time.Duration(number(func(x sample) float64 { return float64(x.Bus.CPU) })),
		},
		HTTPPerSec: number(func(x sample) float64 { return x.HTTPPerSec }),
		Shape:      s[len(s)-1].Shape,
	}, rounds: s}
	for _, x := range s {
		l.Turns += x.Turns
	}
	l.BusTurn = l.Bus.Answered
	l.Ratios = ratios{
		TurnBusP50:  number(func(x sample) float64 { return stat.Ratio(x.Turn.P50, x.Bus.Answered.P50) }),
		TurnBusP99:  number(func(x sample) float64 { return stat.Ratio(x.Turn.P99, x.Bus.Answered.P99) }),
		TurnBothP50: number(func(x sample) float64 { return stat.Ratio(x.Turn.P50, x.Bus.Answered.P50+x.HTTP.P50) }),
		TurnBothP99: number(func(x sample) float64 { return stat.Ratio(x.Turn.P99, x.Bus.Answered.P99+x.HTTP.P99) }),
		AddedBusP50: number(func(x sample) float64 { return stat.Ratio(x.Added.P50, x.Bus.Answered.P50) }),
		AddedBusP99: number(func(x sample) float64 { return stat.Ratio(x.Added.P99, x.Bus.Answered.P99) }),
		RateBus:     number(func(x sample) float64 { return stat.Ratio(x.PerSecond, x.Bus.PerSecond) }),
		RateBoth:    number(func(x sample) float64 { return stat.Ratio(x.PerSecond, both(x)) }),

		FloorPerTurn: len(l.Shape.Steps),
	}
	return l
}

// Goals of the design that this scenario measures.
const (
	goalAddedP50 = 2.0
	goalAddedP99 = 3.0
	goalCPU      = time.Millisecond
	goalRate     = 0.5
	rateSessions = 512
)

func turnGoals(lines []turnLine) []result.Figure {
	var out []result.Figure
	var worst turnLine
	for _, l := range lines {
		if l.CPU >= worst.CPU {
			worst = l
		}
		if l.Sync == "interval" && l.Sessions == 1 {
			out = append(out,
				l.added(result.Goal("added latency p50, 1 session, sync interval", "≤ 2× bus floor",
					fmt.Sprintf("%.2f×", l.Ratios.AddedBusP50), l.Ratios.AddedBusP50 <= goalAddedP50).As("turn.added_p50"), p50),
				l.added(result.Goal("added latency p99, 1 session, sync interval", "≤ 3× bus floor",
					fmt.Sprintf("%.2f×", l.Ratios.AddedBusP99), l.Ratios.AddedBusP99 <= goalAddedP99).As("turn.added_p99"), p99))
		}
		if l.Sessions == rateSessions {
			out = append(out,
				result.Goal("turns/s, 512 sessions, sync "+l.Sync, "≥ 50 % of bus floor",
					fmt.Sprintf("%.0f %%", 100*l.Ratios.RateBus), l.Ratios.RateBus >= goalRate).
					As("turn.rate."+l.Sync).In("turns/s", l.rates()...).Beside(l.busRates()...),
				result.Goal("turns/s, 512 sessions, sync "+l.Sync, "≥ 50 % of both floors",
					fmt.Sprintf("%.0f %%", 100*l.Ratios.RateBoth), l.Ratios.RateBoth >= goalRate).
					As("turn.rate_both."+l.Sync).In("turns/s", l.rates()...).Beside(l.bothRates()...))
		}
	}
	return append(out, result.Goal("processor time of a turn, worst line", "≤ 1 ms", fmt.Sprintf("%.2f ms", stat.MS(worst.CPU)), worst.CPU <= goalCPU).
		As("turn.cpu").In("ms", stat.MSOf(worst.rounds, func(s sample) time.Duration { return s.CPU })...))
}

func (r turnReport) Print(p console.Printer) {
	p.Say("A plain turn over HTTP with an instant fake model: medians of %d rounds, times in ms as p50/p99.", r.Rounds)
	p.Say("turn: POST to reply at the client. added: message stored to answer stored, less the model's own time.")
	p.Say("bus: the same appends and deliveries on a bare nats-server. http: the same three exchanges, net/http only.\n")
	r.table(p)
	bench.PrintGoals(p, r.Goals)
}

// table has a line for each cell, and what a turn consists of.
func (r turnReport) table(p console.Printer) {
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\t\n", args...) }
	row("sync\tsessions\tturn\tadded\tbus\thttp\tturn/bus\tturn/(bus+http)\tadded/bus\tturns/s\tbus/s\thttp/s\tof bus\tof both\tCPU ms\tRSS MB")
	for _, l := range r.Lines {
		pair := func(s stat.Spread) string { return fmt.Sprintf("%.2f/%.2f", stat.MS(s.P50), stat.MS(s.P99)) }
		row("%s\t%d\t%s\t%s\t%s\t%s\t%.1f/%.1f\t%.1f/%.1f\t%.1f/%.1f\t%.0f\t%.0f\t%.0f\t%.0f %%\t%.0f %%\t%.2f\t%.0f",
			l.Sync, l.Sessions, pair(l.Turn), pair(l.Added), pair(l.BusTurn), pair(l.HTTP),
			l.Ratios.TurnBusP50, l.Ratios.TurnBusP99, l.Ratios.TurnBothP50, l.Ratios.TurnBothP99,
			l.Ratios.AddedBusP50, l.Ratios.AddedBusP99, l.PerSecond, l.Bus.PerSecond, l.HTTPPerSec,
			100*l.Ratios.RateBus, 100*l.Ratios.RateBoth, stat.MS(l.CPU), float64(l.RSS)/1e6)
	}
	_ = w.Flush()
	if n := len(r.Lines); n > 0 {
		s := r.Lines[0].Shape
		p.Say("\nA turn (%.0f %% of them have this shape): %s", 100*s.Share, s)
	}
}
