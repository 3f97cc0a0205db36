package chaos

import (
	"github.com/jetclaw/jetclaw/loadtest/bench/trial"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
)

func (r report) Fill(to *result.Result) {
	to.Seed, to.Figures = r.Seed, append(to.Figures, r.Goals...)
	to.Figures = append(to.Figures,
		result.Of("chaos.faults", "faults", "", float64(len(r.Timeline))),
		result.Of("chaos.accepted", "messages accepted", "", float64(r.Verdict.Counts.Accepted)),
		result.Of("chaos.appends", "appends while people wrote", "events/s", r.Appends),
		result.Of("chaos.answered", "from the end of the last fault until every session has answered again", "s", r.Times.Answered.Seconds()))
	for _, s := range r.Timeline {
		m := result.Mark{What: "fault", At: s.From.Sub(r.Times.Began).Seconds()}
		to.Marks = append(to.Marks, m)
	}
	if len(r.journal) > 0 {
		to.Series = append(to.Series, trial.PerSecond("Turns answered", "turn.completed", r.journal))
	}
}
