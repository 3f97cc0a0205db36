package mcp

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
)

// Goals of the design that this scenario measures.
const (
	goalCall       = time.Millisecond
	goalCallRatio  = 3.0
	goalCommandCPU = 100 * time.Millisecond
	goalCommandRSS = 60e6
	goalDead       = 1.1 // nothing, as far as this can be measured
)

func (r report) All() []result.Figure { return r.Goals }

func (r report) Promises() (out []result.Figure) {
	if i := r.Idle; i != nil {
		out = append(out,
			result.Goal(fmt.Sprintf("processes of %d servers that nobody uses", i.Servers), "0", fmt.Sprint(i.Children), i.Children == 0).
				As("mcp.idle").In("", float64(i.Children)),
			result.Goal("the same, after a call and the time to be idle", "0", fmt.Sprint(i.After), i.After == 0).
				As("mcp.idle_after").In("", float64(i.After)),
			result.Goal("the same, after another start, at most", "0", fmt.Sprint(i.Again), i.Again == 0).
				As("mcp.idle_again").In("", float64(i.Again)))
	}
	return out
}

func (r *report) goals() {
	for _, c := range r.Calls {
		r.Goals = append(
			r.Goals,
			result.Goal(
				"a call through gate, journal and session, p50, over "+c.Transport, "≤ 1 ms",
				fmt.Sprintf("%.2f ms", stat.MS(c.Path.P50)), c.Path.P50 <= goalCall).
				As("mcp.call."+c.Transport).In("ms", c.values(func(x callPath) time.Duration { return x.Path.P50 })...).
				Beside(c.values(func(x callPath) time.Duration { return x.Bare.P50 })...),

			result.Goal(
				"the same, to a bare call of the SDK", fmt.Sprintf("≤ %.0f×", goalCallRatio),
				fmt.Sprintf("%.2f× (floor %.2f ms)", c.Ratio, stat.MS(c.Bare.P50)), c.Ratio <= goalCallRatio).As("mcp.ratio."+c.Transport).In("×", c.Ratio),
		)
	}
	for _, c := range r.Commands {
		r.Goals = append(r.Goals,
			result.Goal(c.String()+": CPU", "≤ 100 ms", fmt.Sprintf("%.0f ms (wall %.0f ms)", stat.MS(c.CPU), stat.MS(c.Wall)), c.CPU <= goalCommandCPU).
				As("mcp.cpu."+c.id()).In("ms", stat.MS(c.CPU)),
			result.Goal(c.String()+": memory", "≤ 60 MB", fmt.Sprintf("%.1f MB", float64(c.Peak)/1e6), c.Peak <= goalCommandRSS).
				As("mcp.rss."+c.id()).In("B", float64(c.Peak)))
	}
	r.Goals = append(r.Goals, r.Promises()...)
	if d := r.Dead; d != nil {
		bound := fmt.Sprintf("≤ %.1f×", goalDead)
		r.Goals = append(r.Goals,
			result.Goal("added latency p50 of a plain turn beside dead servers, to none", bound, fmt.Sprintf("%.2f×", d.AddedP50), d.AddedP50 <= goalDead).
				As("mcp.dead_added").In("×", d.AddedP50),
			result.Goal("the whole turn, p50", bound, fmt.Sprintf("%.2f×", d.TurnP50), d.TurnP50 <= goalDead).
				As("mcp.dead_turn").In("×", d.TurnP50))
	}
}

// values are those of the rounds, in ms.
func (c callPath) values(of func(callPath) time.Duration) []float64 { return stat.MSOf(c.rounds, of) }

func (c commandCost) id() string {
	return strings.ReplaceAll(c.Command, " ", "_") + map[bool]string{true: ".daemon"}[c.Running]
}

func (c commandCost) String() string {
	if c.Running {
		return c.Command + ", daemon running"
	}
	return c.Command + ", no daemon"
}

func (r report) Print(p console.Printer) {
	if len(r.Calls) > 0 {
		p.Say("A call of the tool echo of a fake MCP server, sync interval, one session: medians of %d rounds, times in ms as p50/p99.", r.Rounds)
		p.Say("path: turn.stepped stored to call.completed stored, in three parts: gate (dispatched), claim (started), run (completed).")
		p.Say("bare: the same call of the same server by the SDK alone.\n")
		w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
		row := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\t\n", args...) }
		pair := func(s stat.Spread) string { return fmt.Sprintf("%.2f/%.2f", stat.MS(s.P50), stat.MS(s.P99)) }
		row("transport\tprotocol\tcalls\tpath\tgate\tclaim\trun\tbare\tpath/bare\tturn\tCPU ms")
		for _, c := range r.Calls {
			row("%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%.1f/%.1f\t%s\t%.2f", c.Transport, c.Protocol, c.Path.N, pair(c.Path), pair(c.Gate), pair(c.Claim),
				pair(c.Run), pair(c.Bare), c.Ratio, c.RatioP99, pair(c.Turn), stat.MS(c.CPU))
		}
		_ = w.Flush()
		p.Say("")
	}
	if i := r.Idle; i != nil {
		mb := func(n int64) float64 { return float64(n) / 1e6 }
		p.Say("%d servers that nobody uses: %.1f MB at rest and ready after %.0f ms, beside %.1f MB and %.0f ms with none configured;",
			i.Servers, mb(i.RSS), stat.MS(i.Ready), mb(i.RSSNone), stat.MS(i.None))
		p.Say("processes: %d at most after the first start, %d at rest, %d at most after a call of one of them, then %d (and %.1f MB); "+
			"%d at most after another start (%.1f MB)\n", i.First, i.Children, i.Used, i.After, mb(i.RSSAfter), i.Again, mb(i.RSSAgain))
	}
	if d := r.Dead; d != nil {
		p.Say("A plain turn beside servers that are absent, end at once or never answer, and beside none:")
		exchange.PrintCompared(p, []exchange.Compared{d.Compared}, "dead", "none")
		p.Say("the first turn of a daemon: %.1f ms, %.1f ms with none\n", stat.MS(d.First), stat.MS(d.FirstNone))
	}
	bench.PrintGoals(p, r.Goals)
}
