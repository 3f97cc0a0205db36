package kill

import (
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

func (r report) Fill(to *result.Result) {
	to.Seed, to.Figures = r.Seed, append(to.Figures, r.Goals...)
	c := r.Verdict.Counts
	to.Figures = append(to.Figures,
		result.Of("kill.kills", "kills", "", float64(r.Kills)),
		result.Of("kill.accepted", "messages accepted", "", float64(c.Accepted)),
		result.Of("kill.repeated", "repeats, each with delivery.unknown recorded", "", float64(c.Repeated)),
		result.Of("kill.ready", "restart to ready, p50", "ms", stat.MS(r.Ready.P50)),
		result.Of("kill.every", "every interrupted turn, from ready, p50", "ms", stat.MS(r.Resumed.P50)))
	r.Story().Timeline(to)
}
