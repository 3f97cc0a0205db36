package turn

import (
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

func (r toolReport) Fill(to *result.Result) {
	to.Figures = append(to.Figures, r.Goals...)
	if r.Turns != nil {
		r.Turns.fillAs("tool", to)
	}
	if p := r.Parked; p != nil {
		to.Figures = append(to.Figures,
			result.Of("parked.each", "memory of a parked call", "B", p.RSSEach),
			result.Of("parked.list", "the list of what is open, p50", "ms", stat.MS(p.List.P50)),
			result.Of("parked.answered", "a decision to its reply, p50", "ms", stat.MS(p.Answered.P50)))
	}
	if x := r.Race; x != nil {
		to.Figures = append(to.Figures, result.Of("race.took", "until the last decider was told", "ms", stat.MS(x.Took)))
	}
}
