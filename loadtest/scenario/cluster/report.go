package cluster

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
)

// report is what --json prints. Durations are in nanoseconds; fields are only added.
type report struct {
	Sync   string `json:"sync"`
	Cells  []cell `json:"cells"`
	Rounds int    `json:"rounds"` // of each kind of fail-over

	WorkerFirst stat.Spread `json:"worker_first"` // kill -9 of a worker to the first of its turns that another one took over
	WorkerAll   stat.Spread `json:"worker_all"`   // to each of them
	Leader      stat.Spread `json:"leader"`       // kill -9 of the server that leads the journal to the next append
}

// cell is one measurement of turns.
type cell struct {
	Workers  int    `json:"workers"` // processes of turns; one of every other service
	Copies   int    `json:"copies"`  // of each stream, on three servers
	Sessions int    `json:"sessions"`
	Delay    string `json:"delay"` // of the model

	Turn      stat.Spread   `json:"turn"`
	PerSecond float64       `json:"per_second"`
	Turns     time.Duration `json:"cpu_turns_ns"`    // of the processes of turns, a turn
	Services  time.Duration `json:"cpu_services_ns"` // of all processes of jetclaw, a turn
	NATS      time.Duration `json:"cpu_nats_ns"`     // of the three servers, a turn
}

func (c *cell) measured(e exchange.Outcome, u used) {
	n := time.Duration(max(1, e.Ended))
	c.Turn, c.PerSecond = stat.SpreadOf(e.Took), e.PerSecond
	c.Turns, c.Services, c.NATS = u.turns/n, u.services/n, u.nats/n
}

type failover struct {
	id, what string
	took     stat.Spread
}

func (r report) failovers() []failover {
	return []failover{
		{"worker_first", "worker killed, first of its turns goes on", r.WorkerFirst},
		{"worker_all", "worker killed, each of its turns goes on", r.WorkerAll},
		{"leader", "NATS leader of the journal killed, next append", r.Leader},
	}
}

func (r report) Print(p console.Printer) {
	p.Say("Turns on three NATS servers, every service a process of its own, NATS sync %s; times in ms as p50/p99, processor time in ms a turn.\n", r.Sync)
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "workers\tcopies\tsessions\tmodel\tturn\tturns/s\tCPU turns\tCPU all services\tCPU NATS\t")
	for _, c := range r.Cells {
		_, _ = fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%.1f / %.1f\t%.0f\t%.2f\t%.2f\t%.2f\t\n", c.Workers, c.Copies, c.Sessions, c.Delay,
			stat.MS(c.Turn.P50), stat.MS(c.Turn.P99), c.PerSecond, stat.MS(c.Turns), stat.MS(c.Services), stat.MS(c.NATS))
	}
	_ = w.Flush()
	if r.Rounds == 0 {
		return
	}
	p.Say("\nFail-over, %d kills each, p50 / longest in s:", r.Rounds)
	for _, f := range r.failovers() {
		p.Say("  %-48s %.2f / %.2f  (n %d)", f.what, f.took.P50.Seconds(), f.took.Max.Seconds(), f.took.N)
	}
}
