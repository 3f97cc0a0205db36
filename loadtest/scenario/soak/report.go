package soak

import (
	"fmt"
	"math"
	"text/tabwriter"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/recheck"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

// report is the detail of soak's result. Durations are in nanoseconds, memory in bytes; fields are only added.
type report struct {
	Seed        uint64           `json:"seed"`
	For         time.Duration    `json:"for_ns"`
	Warmup      float64          `json:"warmup"` // share of it
	Samples     []sample         `json:"samples"`
	Slopes      []slope          `json:"slopes"`
	Undelivered int              `json:"undelivered"` // doorbells after a clean stop
	Replay      recheck.Replayed `json:"replay"`
	Goals       []result.Figure  `json:"goals"`
}

// slope is how something grows with the turns, after the warm-up.
type slope struct {
	ID    string    `json:"id"`
	Per   float64   `json:"per"` // turns
	Line  stat.Line `json:"line"`
	Bound float64   `json:"bound"` // allowed, per so many turns
}

// grower is something that must not grow without end. Each turn leaves a few events, so that disk and memory may grow with the
// turns, by what that costs; a bound is a generous multiple of it. What grows by more leaks.
type grower struct {
	id, name, unit string
	per            float64 // turns
	bound          float64 // of the growth per so many turns
	of             func(sample) float64
}

const thousand = 1000

func growers() []grower {
	return []grower{
		{"rss", "Memory of the daemon", "B", thousand, 3e6, func(s sample) float64 { return float64(s.RSS) }},
		{"heap", "Heap in use", "B", thousand, 2e6, func(s sample) float64 { return s.Heap }},
		{"goroutines", "Goroutines", "", thousand, 5, func(s sample) float64 { return s.Goroutines }},
		{"files", "Open files", "", thousand, 2, func(s sample) float64 { return float64(s.Files) }},
		{"threads", "Threads", "", thousand, 1, func(s sample) float64 { return float64(s.Threads) }},
		{"disk", "Disk that the home takes", "B", 1, 40e3, func(s sample) float64 { return float64(s.Disk) }},
		{"consumers", "Consumers", "", thousand, 0.5, func(s sample) float64 { return float64(s.Consumers) }},
		{"lag", "Doorbells not settled", "", thousand, 10, func(s sample) float64 { return float64(s.Lag) }},
		{"served", "Memory of jetclaw mcp serve", "B", thousand, 2e6, func(s sample) float64 { return float64(s.Served) }},
	}
}

// after are the readings that count.
func (r report) after() []sample {
	from := time.Duration(r.Warmup * float64(r.For))
	for i, s := range r.Samples {
		if s.At >= from {
			return r.Samples[i:]
		}
	}
	return nil
}

// finish fits the slopes. A slope breaks its bound when it does so by more than twice its own error: readings scatter.
func (r *report) finish(events int) {
	all := r.after()
	turns := stat.Each(all, func(s sample) float64 { return float64(s.Turns) })
	for _, g := range growers() {
		y := stat.Each(all, g.of)
		if stat.Quantile(y, 1) == 0 && g.id != "lag" {
			continue // it is not known
		}
		l := stat.LineOf(turns, y)
		s := slope{ID: g.id, Per: g.per, Line: l, Bound: g.bound}
		r.Slopes = append(r.Slopes, s)
		per := "turn"
		if g.per > 1 {
			per = result.Number(g.per) + " turns"
		}
		r.Goals = append(r.Goals, result.Goal(
			fmt.Sprintf("%s: growth per %s", g.name, per), "≤ "+result.With(g.bound, g.unit),
			fmt.Sprintf("%s ± %s", result.With(l.Slope*g.per, g.unit), result.With(2*l.Error*g.per, g.unit)), s.bounded(),
		).As("soak."+g.id).In(g.unit, l.Slope*g.per))
	}
	r.Goals = append(r.Goals,
		result.Counted("soak.undelivered", "doorbells not settled after a clean stop", r.Undelivered),
		r.Replay.Goal(events))
}

func (s slope) bounded() bool {
	return (s.Line.Slope-2*s.Line.Error)*s.Per <= s.Bound && !math.IsNaN(s.Line.Slope)
}

func (r report) All() []result.Figure      { return r.Goals }
func (r report) Promises() []result.Figure { return r.Goals }

// perSession is the memory that a session leaves, if all growth is due to sessions: an upper bound.
func (r report) perSession() float64 {
	all := r.after()
	sessions := stat.Each(all, func(s sample) float64 { return float64(s.Sessions) })
	return stat.LineOf(sessions, stat.Each(all, func(s sample) float64 { return float64(s.RSS) })).Slope
}

func (r report) Fill(to *result.Result) {
	to.Seed, to.Figures = r.Seed, append(to.Figures, r.Goals...)
	if len(r.Samples) == 0 {
		return
	}
	first, last := r.Samples[0], r.Samples[len(r.Samples)-1]
	seconds := max(1, (last.At - first.At).Seconds())
	to.Figures = append(to.Figures,
		result.Of("soak.turns", "turns", "", float64(last.Turns)),
		result.Of("soak.sessions", "sessions", "", float64(last.Sessions)),
		result.Of("soak.events_turn", "events a turn", "", stat.Ratio(float64(last.Events-first.Events), float64(last.Turns-first.Turns))),
		result.Of("soak.session", "growth of memory a session, at most", "B", r.perSession()),
		result.Of("soak.rate", "turns a second", "", float64(last.Turns-first.Turns)/seconds))
	for _, g := range growers() {
		s := result.Series{Name: g.name, Unit: g.unit, From: r.Warmup * r.For.Seconds()}
		var x, y []float64
		for _, p := range r.Samples {
			s.Points = append(s.Points, result.Point{At: p.At.Seconds(), Value: g.of(p)})
			if p.At.Seconds() >= s.From {
				x, y = append(x, p.At.Seconds()), append(y, g.of(p))
			}
		}
		if stat.Quantile(y, 1) == 0 && g.id != "lag" {
			continue
		}
		l := stat.LineOf(x, y)
		s.Slope = &l
		to.Series = append(to.Series, s)
	}
	rate := result.Series{Name: "Turns", Unit: "turns/s"}
	for i := 1; i < len(r.Samples); i++ {
		a, b := r.Samples[i-1], r.Samples[i]
		rate.Points = append(rate.Points, result.Point{At: b.At.Seconds(), Value: float64(b.Turns-a.Turns) / max(0.001, (b.At-a.At).Seconds())})
	}
	to.Series = append(to.Series, rate)
}

func (r report) Print(p console.Printer) {
	if len(r.Samples) > 0 {
		last := r.Samples[len(r.Samples)-1]
		p.Say("%s of steady work: %d turns in %d sessions, %d events; slopes by least squares over the last %.0f %% of the time, seed %d",
			r.For, last.Turns, last.Sessions, last.Events, 100*(1-r.Warmup), r.Seed)
		p.Say("growth of memory a session, if all of it is due to sessions: %s\n", result.With(r.perSession(), "B"))
		w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
		_, _ = fmt.Fprintln(w, "\tafter the warm-up\tat the end\tmost\t")
		after := r.after()
		for _, g := range growers() {
			if y := stat.Each(after, g.of); stat.Quantile(y, 1) > 0 {
				_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\n", g.name, result.With(y[0], g.unit),
					result.With(y[len(y)-1], g.unit), result.With(stat.Quantile(y, 1), g.unit))
			}
		}
		_ = w.Flush()
	}
	bench.PrintGoals(p, r.Goals)
}
