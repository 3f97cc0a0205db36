package mcp

import (
	"time"

	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

func (r report) Fill(to *result.Result) {
	to.Rounds, to.Figures = r.Rounds, append(to.Figures, r.Goals...)
	for _, c := range r.Calls {
		part := func(id, name string, of func(callPath) time.Duration) result.Figure {
			return result.Of("mcp."+id+"."+c.Transport, name+", over "+c.Transport, "ms", c.values(of)...)
		}
		to.Figures = append(to.Figures,
			part("gate", "of a call: the gate, p50", func(x callPath) time.Duration { return x.Gate.P50 }),
			part("claim", "of a call: the claim, p50", func(x callPath) time.Duration { return x.Claim.P50 }),
			part("run", "of a call: the run, p50", func(x callPath) time.Duration { return x.Run.P50 }),
			part("turn", "the whole turn, p50", func(x callPath) time.Duration { return x.Turn.P50 }),
			part("turn_cpu", "CPU of the turn", func(x callPath) time.Duration { return x.CPU }))
		to.Distributions = append(to.Distributions, result.Distribution{Name: "A call over " + c.Transport, Curves: []result.Curve{
			result.FloorCurve("bare call of the SDK", stat.Merged(c.rounds, callPath.bareHist)), result.MeasuredCurve(stat.Merged(c.rounds, callPath.pathHist)),
		}})
	}
	if i := r.Idle; i != nil {
		to.Figures = append(to.Figures,
			result.Of("mcp.idle_rss", "memory beside servers that nobody uses, to none", "B", float64(i.RSS)).Beside(float64(i.RSSNone)),
			result.Of("mcp.idle_first", "processes when all are seen for the first time, at most", "", float64(i.First)))
	}
}
