package replay

import (
	"time"

	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

func (r report) Fill(to *result.Result) {
	to.Rounds, to.Figures = len(r.Rounds), append(to.Figures, r.Goals...)
	reindexed := stat.Each(r.Rounds, func(x round) float64 { return x.Index.Rate })
	raw := stat.Each(r.Rounds, func(x round) float64 { return x.Ordered.PerSecond })
	to.Figures = append(to.Figures,
		result.Of("replay.events", "events of the journal", "", float64(r.Events)),
		result.Of("replay.reindex", "sessions reindex", "events/s", reindexed...).Beside(raw...),
		result.Of("replay.explain_alone", "explain without a daemon", "ms", r.every(func(x round) []time.Duration { return x.Alone })...))
}
