package main

import (
	"time"

	"github.com/jetclaw/jetclaw/loadtest/result"
)

func (r telegramReport) fill(to *result.Result) {
	to.Seed, to.Figures = r.Seed, append(to.Figures, r.Goals...)
	to.Figures = append(to.Figures,
		result.Of("telegram.updates", "updates", "", float64(r.Updates)),
		result.Of("telegram.answered", "a message to its answer in the journal, p50", "ms", ms(r.Wait.P50)),
		result.Of("telegram.unknown", "parts of which nobody knows whether they arrived", "", float64(r.Counts.Unknown)),
		result.Of("telegram.ready", "restart to ready, p50", "ms", ms(r.Ready.P50)))
	r.story().timeline(to)
}

func (r rateReport) fill(to *result.Result) {
	to.Rounds, to.Figures = len(r.Rounds), append(to.Figures, r.Goals...)
	to.Figures = append(to.Figures,
		result.Of("telegram.first", "start to the first update in the journal", "ms", msOf(r.Rounds, func(x rateRound) time.Duration { return x.First })...),
		result.Of("telegram.shown", "start to the last answer in its chat", "s", r.Shown.Seconds()))
}
