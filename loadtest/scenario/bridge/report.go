package bridge

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

// Goals of the design that this scenario measures.
const (
	goalWait       = 2 * time.Millisecond // over the floor
	goalServeReady = 300 * time.Millisecond
	goalServeRSS   = 40e6
	goalMuteEnd    = 5 * time.Second
	goalMute       = 150e6 // generous: what is unbounded grows past anything
)

func (r report) All() []result.Figure { return r.Goals }

func (r report) Promises() (out []result.Figure) {
	for _, m := range r.Mute {
		out = append(out, result.Goal(
			fmt.Sprintf("memory with a client over %s that reads nothing while %d events happen, at most", m.Transport, m.Events),
			"≤ 150 MB", megabytes(m.Peak), m.Peak <= goalMute).As("bridge.mute."+m.Transport).In("B", float64(m.Peak)))
	}
	if c := r.CatchUp; c != nil {
		out = append(out, result.Goal(
			fmt.Sprintf("%d messages after kill -9 of the daemon, told once each and in order", c.Messages), "all",
			fmt.Sprintf("%d, %d wrong", c.Told, len(c.Wrong)), c.Told == c.Messages && len(c.Wrong) == 0).As("bridge.catch_up").In("", float64(c.Told)))
	}
	return out
}

func (r *report) goals() {
	for _, w := range r.Waits {
		name, added, floor := w.String()+": stored to told, p50", w.Added, w.Floor
		if w.Waiters == 1 {
			name, added, floor = name+", beyond a bare call", w.AddedCall, w.Echo
		} else {
			name += ", beyond a bare server"
		}
		r.Goals = append(r.Goals, result.Goal(
			name, "≤ 2 ms", fmt.Sprintf("%.2f ms (%.2f ms, floor %.2f ms)", stat.MS(time.Duration(added)), stat.MS(w.Took.P50), stat.MS(floor.P50)),
			time.Duration(added) <= goalWait).As("bridge.wait."+w.id()).In("ms", stat.MS(w.Took.P50)).Beside(stat.MS(floor.P50)))
	}
	if s := r.Start; s != nil {
		r.Goals = append(r.Goals,
			result.Goal(
				"start: exec to tools/list answered, median", "≤ 300 ms",
				fmt.Sprintf("%.0f ms (CPU %.0f ms; version takes %.0f ms)", stat.MS(s.Ready.P50), stat.MS(s.CPU), stat.MS(s.Version)),
				s.Ready.P50 <= goalServeReady).
				As("bridge.start").In("ms", stat.MS(s.Ready.P50)).Beside(stat.MS(s.Version)),

			result.Goal("memory after it", "≤ 40 MB", megabytes(s.RSS), s.RSS <= goalServeRSS).As("bridge.rss").In("B", float64(s.RSS)))
	}
	if r.RSS > 0 {
		r.Goals = append(r.Goals, result.Goal("memory after the load", "≤ 40 MB", megabytes(r.RSS), r.RSS <= goalServeRSS).
			As("bridge.rss_load").In("B", float64(r.RSS)))
	}
	if c := r.Crowd; c != nil {
		r.Goals = append(r.Goals, result.Goal(
			fmt.Sprintf("open files after %d sessions over HTTP, twice", c.Sessions), fmt.Sprintf("≤ %d, as before", c.Files),
			fmt.Sprintf("%d (%d with them)", c.FilesAfter, c.FilesWith), c.FilesAfter <= c.Files).
			As("bridge.files").In("", float64(c.FilesAfter)).Beside(float64(c.Files)))
	}
	for _, m := range r.Mute {
		by := "its client has closed its end"
		if m.Transport == peer.OverHTTP {
			by = "SIGTERM"
		}
		r.Goals = append(r.Goals, result.Goal(
			fmt.Sprintf("the end of the server whose client over %s reads nothing, after %s", m.Transport, by), "≤ 5 s",
			fmt.Sprintf("%.1f s", m.Ended.Seconds())+map[bool]string{true: ", killed"}[m.Killed], !m.Killed && m.Ended <= goalMuteEnd).
			As("bridge.end."+m.Transport).In("ms", stat.MS(m.Ended)))
	}
	r.Goals = append(r.Goals, r.Promises()...)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func (w waitCost) id() string { return fmt.Sprintf("%s.%d", w.Transport, w.Waiters) }

func (w waitCost) String() string {
	switch {
	case w.Waiters == 1:
		return "1 client waits over " + w.Transport
	case w.Own:
		return fmt.Sprintf("%d clients wait over %s", w.Waiters, w.Transport)
	}
	return fmt.Sprintf("%d calls of one client wait over %s", w.Waiters, w.Transport)
}

func (r report) Print(p console.Printer) {
	pair := func(s stat.Spread) string { return fmt.Sprintf("%.2f/%.2f", stat.MS(s.P50), stat.MS(s.P99)) }
	p.Say("jetclaw mcp serve beside a daemon with %d sessions: medians of %d rounds, times in ms as p50/p99.", r.Sessions, r.Rounds)
	if len(r.Calls) > 0 {
		p.Say("took: a call over stdio. bare: a call of a bare server of the SDK whose result has as many bytes. CPU: of the server, without the daemon.\n")
		w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
		_, _ = fmt.Fprintln(w, "call\tcalls\tkB\ttook\tbare\ttook/bare\tCPU ms\t")
		for _, c := range r.Calls {
			_, _ = fmt.Fprintf(w, "%s\t%d\t%.1f\t%s\t%s\t%.1f/%.1f\t%.2f\t\n", c.Call, c.Took.N, float64(c.Bytes)/1e3, pair(c.Took), pair(c.Floor),
				c.Ratio, c.RatioP99, stat.MS(c.CPU))
		}
		_ = w.Flush()
	}
	if len(r.Waits) > 0 {
		p.Say("\nEvents that clients wait for. told: a message stored, by the bus's clock, to events_wait answered at the client; last: of the last client.")
		p.Say("bare: the call that releases as many calls of a bare server, to their answers. call: a plain call of that server.\n")
		w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
		_, _ = fmt.Fprintln(w, "\ttold\tlast\tbare\tbare last\ttold/bare\tcall\t")
		for _, l := range r.Waits {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.1f\t%s\t\n", l, pair(l.Took), pair(l.Last), pair(l.Floor), pair(l.FloorLast), l.Ratio, pair(l.Echo))
		}
		_ = w.Flush()
	}
	if c := r.Crowd; c != nil {
		p.Say("\n%d sessions over HTTP, open within %.1f s: %s before, %s with them, %s after; once more %s and %s",
			c.Sessions, c.Took.Seconds(), megabytes(c.RSS), megabytes(c.With), megabytes(c.After), megabytes(c.Again), megabytes(c.AfterAgain))
	}
	for _, m := range r.Mute {
		p.Say("a client over %s that has asked for %d pages and reads nothing, while %d events happen: %s before, %s at most, %s at rest",
			m.Transport, m.Asked, m.Events, megabytes(m.RSS), megabytes(m.Peak), megabytes(m.After))
	}
	if c := r.CatchUp; c != nil {
		p.Say("catching up after kill -9: the daemon was ready after %.0f ms, %d messages were told within %.1f s of the first one's sending;",
			stat.MS(c.Ready), c.Told, c.Took.Seconds())
		p.Say("%d polls, %d of them failed and were asked again, the slowest took %.0f ms", c.Polls, c.Failed, stat.MS(c.Slowest))
	}
	bench.PrintGoals(p, r.Goals)
}
