package bridge

import (
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

func (r report) Fill(to *result.Result) {
	to.Rounds, to.Figures = r.Rounds, append(to.Figures, r.Goals...)
	for _, c := range r.Calls {
		to.Figures = append(to.Figures, result.Of("bridge.call."+c.Call, c.Call+", p50, over stdio", "ms", stat.MS(c.Took.P50)).Beside(stat.MS(c.Floor.P50)))
	}
	if c := r.Crowd; c != nil {
		to.Figures = append(to.Figures,
			result.Of("bridge.crowd", "memory with sessions over HTTP, to none", "B", float64(c.With)).Beside(float64(c.RSS)),
			result.Of("bridge.crowd_after", "memory after them", "B", float64(c.After)).Beside(float64(c.RSS)))
	}
	if c := r.CatchUp; c != nil {
		to.Figures = append(to.Figures,
			result.Of("bridge.catch_up_took", "until all messages after kill -9 were told", "s", c.Took.Seconds()),
			result.Of("bridge.catch_up_poll", "the slowest poll meanwhile", "ms", stat.MS(c.Slowest)))
	}
}
