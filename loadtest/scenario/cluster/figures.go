package cluster

import (
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

const goalFailover = 5 * time.Second // AckWait

func (r report) Fill(to *result.Result) {
	to.Rounds = r.Rounds
	for _, c := range r.Cells {
		id := fmt.Sprintf("%d.r%d.%d.%s", c.Workers, c.Copies, c.Sessions, c.Delay)
		what := fmt.Sprintf("%d workers of turns, R%d, %d sessions, model %s", c.Workers, c.Copies, c.Sessions, c.Delay)
		to.Figures = append(to.Figures,
			result.Of("cluster.rate."+id, what, "turns/s", c.PerSecond),
			result.Of("cluster.p50."+id, "a turn, p50, "+what, "ms", stat.MS(c.Turn.P50)),
			result.Of("cluster.cpu."+id, "CPU of all services, a turn, "+what, "ms", stat.MS(c.Services)),
			result.Of("cluster.nats."+id, "CPU of the NATS servers, a turn, "+what, "ms", stat.MS(c.NATS)))
	}
	if r.Rounds == 0 {
		return
	}
	over := func(id, what string, s stat.Spread) {
		to.Figures = append(to.Figures, result.Goal(what+" (p50; longest)", "≤ 5 s",
			fmt.Sprintf("%.2f s; %.2f s", s.P50.Seconds(), s.Max.Seconds()), s.N > 0 && s.Max <= goalFailover).As("cluster."+id).In("s", s.Max.Seconds()))
	}
	over("worker", "worker killed, until the first of its turns goes on", r.WorkerFirst)
	over("worker_all", "worker killed, until each of its turns goes on", r.WorkerAll)
	over("leader", "NATS leader of the journal killed, until the next append", r.Leader)
}
