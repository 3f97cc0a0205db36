package start

import "github.com/jetclaw/jetclaw/loadtest/figure/result"

func (r startReport) Fill(to *result.Result) {
	to.Figures = append(to.Figures, r.Goals...)
	if len(r.memory) > 0 {
		to.Series = append(to.Series, result.Series{Name: "Memory of the daemon while turns run, then at rest", Unit: "B", Points: r.memory})
	}
}
