package telegram

import (
	"time"

	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

func (r report) Fill(to *result.Result) {
	to.Seed, to.Figures = r.Seed, append(to.Figures, r.Goals...)
	to.Figures = append(to.Figures,
		result.Of("telegram.updates", "updates", "", float64(r.Updates)),
		result.Of("telegram.answered", "a message to its answer in the journal, p50", "ms", stat.MS(r.Wait.P50)),
		result.Of("telegram.unknown", "parts of which nobody knows whether they arrived", "", float64(r.Counts.Unknown)),
		result.Of("telegram.ready", "restart to ready, p50", "ms", stat.MS(r.Ready.P50)))
	r.Story().Timeline(to)
}

func (r rateReport) Fill(to *result.Result) {
	to.Rounds, to.Figures = len(r.Rounds), append(to.Figures, r.Goals...)
	to.Figures = append(to.Figures,
		result.Of("telegram.first", "start to the first update in the journal", "ms",
			stat.MSOf(r.Rounds, func(x rateRound) time.Duration { return x.First })...),
		result.Of("telegram.shown", "start to the last answer in its chat", "s", r.Shown.Seconds()))
}
