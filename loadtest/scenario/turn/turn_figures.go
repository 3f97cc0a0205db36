package turn

import (
	"time"

	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
)

// beside gives a figure the added time of each round and the bus's.
func (l turnLine) added(f result.Figure, q func(stat.Spread) time.Duration) result.Figure {
	return f.In("ms", stat.MSOf(l.rounds, addedMS(q))...).Beside(stat.MSOf(l.rounds, busMS(q))...)
}

func (l turnLine) rates() []float64 {
	return stat.Each(l.rounds, func(s sample) float64 { return s.PerSecond })
}

func (l turnLine) busRates() []float64 {
	return stat.Each(l.rounds, func(s sample) float64 { return s.Bus.PerSecond })
}

// bothRates are what both floors would do one after the other.
func (l turnLine) bothRates() []float64 {
	return stat.Each(l.rounds, func(s sample) float64 { return 1 / (1/s.Bus.PerSecond + 1/s.HTTPPerSec) })
}

// fill has the cells of a command, each beside its floors; of begins the ids.
func (r turnReport) fillAs(of string, to *result.Result) {
	to.Rounds = r.Rounds
	for _, l := range r.Lines {
		both := func(q func(stat.Spread) time.Duration) []float64 {
			return stat.MSOf(l.rounds, func(s sample) time.Duration { return q(s.Bus.Answered) + q(s.HTTP) })
		}
		whole := func(q func(stat.Spread) time.Duration) []float64 {
			return stat.MSOf(l.rounds, func(s sample) time.Duration { return q(s.Turn) })
		}
		to.Figures = append(to.Figures,
			result.Of(of+".p50"+l.Key(), "a turn, p50, "+l.String(), "ms", whole(p50)...).Beside(both(p50)...),
			result.Of(of+".p99"+l.Key(), "a turn, p99, "+l.String(), "ms", whole(p99)...).Beside(both(p99)...),
			l.added(result.Of(of+".added_p50"+l.Key(), "added to it, p50, "+l.String(), "ms"), p50),
			l.added(result.Of(of+".added_p99"+l.Key(), "added to it, p99, "+l.String(), "ms"), p99),
			result.Of(of+".rate"+l.Key(), l.String(), "turns/s", l.rates()...).Beside(l.bothRates()...),
			result.Of(of+".cpu"+l.Key(), "CPU of a turn, "+l.String(), "ms", stat.MSOf(l.rounds, func(s sample) time.Duration { return s.CPU })...),
			result.Of(of+".rss"+l.Key(), "memory, "+l.String(), "B", stat.Each(l.rounds, func(s sample) float64 { return float64(s.RSS) })...),
		)
		to.Distributions = append(to.Distributions, result.Distribution{
			Name: "A turn at the client, " + l.String(), Curves: []result.Curve{
				result.FloorCurve("bare bus", stat.Merged(l.rounds, func(s sample) stat.Histogram { return s.Bus.Hist })),
				result.FloorCurve("bare HTTP", stat.Merged(l.rounds, func(s sample) stat.Histogram { return s.httpHist })),
				result.MeasuredCurve(stat.Merged(l.rounds, func(s sample) stat.Histogram { return s.turnHist })),
			},
		})
	}
}

func (r turnReport) Fill(to *result.Result) {
	to.Figures = append(to.Figures, r.Goals...)
	r.fillAs("turn", to)
}

func (r historyReport) Fill(to *result.Result) {
	to.Rounds, to.Figures = r.Rounds, append(to.Figures, r.Goals...)
	exchange.FillCompared("history", "old", "new", r.Lines, to)
}

func (r dormantReport) Fill(to *result.Result) {
	to.Rounds, to.Figures = r.Rounds, append(to.Figures, r.Goals...)
	exchange.FillCompared("dormant", "beside dormant ones", "alone", r.Lines, to)
	for _, h := range r.Homes {
		to.Figures = append(to.Figures,
			result.Of("dormant.ready."+h.Sync, "start to ready, sync "+h.Sync, "ms", stat.MS(h.Ready)).Beside(stat.MS(h.ReadyEmpty)),
			result.Of("dormant.rss."+h.Sync, "memory at rest, sync "+h.Sync, "B", float64(h.RSS)).Beside(float64(h.RSSEmpty)))
	}
}

func p50(s stat.Spread) time.Duration { return s.P50 }

func p99(s stat.Spread) time.Duration { return s.P99 }

// Parts of a cell's rounds.
func addedMS(q func(stat.Spread) time.Duration) func(sample) time.Duration {
	return func(s sample) time.Duration { return q(s.Added) }
}

func busMS(q func(stat.Spread) time.Duration) func(sample) time.Duration {
	return func(s sample) time.Duration { return q(s.Bus.Answered) }
}
