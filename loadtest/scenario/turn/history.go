package turn

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
)

// historyReport is what `turn --history N --json` prints. Durations are in nanoseconds, memory in bytes; fields are only added.
type historyReport struct {
	Messages    int                 `json:"messages"`      // of a session before it is measured
	Bytes       int                 `json:"message_bytes"` // of each
	Rounds      int                 `json:"rounds"`
	Lines       []exchange.Compared `json:"lines"`       // sessions with a history, beside new ones
	Compactions int                 `json:"compactions"` // in the journals of all rounds
	Failed      int                 `json:"compactions_failed"`
	Growth      growth              `json:"growth"`
	Goals       []result.Figure     `json:"goals"`
}

// growth is the daemon's memory beside one session that grows.
type growth struct {
	Idle        int64 `json:"idle_rss"`
	Once        int64 `json:"rss_once"`  // after the messages, at rest
	Twice       int64 `json:"rss_twice"` // after as many again
	Request     int   `json:"request_bytes_once"`
	RequestLast int   `json:"request_bytes_twice"`
	Compactions int   `json:"compactions"`
}

// past is what the sessions of a measurement have behind them.
type past struct {
	messages, bytes int
	calm            time.Duration // until the daemon counts itself as idle and gives memory back
}

const (
	goalHistory = 1.5
	goalFlat    = 1.1
	fullHistory = 1000 // messages from which on the goal holds
)

// withHistory measures turns in sessions that have a past beside turns in new ones, in the same daemon.
func withHistory(ctx context.Context, b *bench.Bench, cells []exchange.Cell, t bench.Timing, rounds int, h past) (historyReport, error) {
	r := historyReport{Messages: h.messages, Bytes: h.bytes, Rounds: rounds}
	old, fresh := map[exchange.Cell][]exchange.Reading{}, map[exchange.Cell][]exchange.Reading{}
	for round := range rounds {
		for _, c := range cells {
			b.P.Note("round %d of %d: sync %s, %d sessions with %d messages each", round+1, rounds, c.Sync, c.Sessions, h.messages)
			o, f, err := aged(ctx, b, c, t, round, h, &r)
			if err != nil {
				return r, fmt.Errorf("%d sessions, sync %s: %w", c.Sessions, c.Sync, err)
			}
			old[c], fresh[c] = append(old[c], o), append(fresh[c], f)
		}
	}
	for _, c := range cells {
		r.Lines = append(r.Lines, exchange.Compare(c, old[c], fresh[c]))
	}
	b.P.Note("memory: one session with %d messages, then with %d", h.messages, 2*h.messages)
	if err := measureGrowth(ctx, b, cells[0].Sync, h, &r.Growth); err != nil {
		return r, fmt.Errorf("growth: %w", err)
	}
	r.goals()
	return r, nil
}

// aged is one round of a cell. Which of the two comes first changes from round to round.
func aged(ctx context.Context, b *bench.Bench, c exchange.Cell, t bench.Timing, round int, h past, r *historyReport) (old, fresh exchange.Reading, err error) {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return old, fresh, err
	}
	defer m.Close()
	run := fmt.Sprintf("%s%dr%d", c.Sync[:1], c.Sessions, round)
	home, err := b.Home("history-"+run, c.Sync, m.URL())
	if err != nil {
		return old, fresh, err
	}
	d, err := b.Start(ctx, home)
	if err != nil {
		return old, fresh, err
	}
	defer d.Kill()
	cl := d.Client(c.Sessions + 1)
	defer cl.Close()
	f := exchange.Filling{
		Run: run + "h", Sessions: exchange.Names(run+"-old", c.Sessions), Each: h.messages, Parallel: c.Sessions, Text: exchange.HistoryText(h.bytes),
	}
	if err := f.Fill(ctx, cl); err != nil {
		return old, fresh, fmt.Errorf("%w\n%s", err, daemon.LogTail(home.LogFile()))
	}
	x := exchange.Loop{Sessions: c.Sessions, PerSession: t.PerSession, Warmup: t.Warmup, Duration: t.Duration}
	both := []func() error{
		func() (err error) {
			x.Run, x.Old = run+"o", run+"-old"
			old, err = exchange.Measure(ctx, d, x, m)
			return err
		},
		func() (err error) {
			x.Run, x.Old = run+"n", ""
			fresh, err = exchange.Measure(ctx, d, x, m)
			return err
		},
	}
	for i := range both {
		if err := both[(i+round)%2](); err != nil {
			return old, fresh, err
		}
	}
	if err := d.Stop(bench.StopTime); err != nil {
		return old, fresh, fmt.Errorf("%w\n%s", err, daemon.LogTail(home.LogFile()))
	}
	journal, err := store.ReadJournal(ctx, home.Data())
	if err != nil {
		return old, fresh, err
	}
	old.Added, _ = exchange.AddedOf(journal, old.Markers, m)
	fresh.Added, _ = exchange.AddedOf(journal, fresh.Markers, m)
	for _, e := range journal {
		switch e.Kind() {
		case "session.compacted":
			r.Compactions++
		case "compaction.failed":
			r.Failed++
		}
	}
	if !b.Keep {
		_ = os.RemoveAll(home.Dir)
	}
	return old, fresh, nil
}

// measureGrowth sends one session its messages twice and looks at the daemon's memory after each.
func measureGrowth(ctx context.Context, b *bench.Bench, sync string, h past, g *growth) error {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	home, err := b.Home("growth", sync, m.URL())
	if err != nil {
		return err
	}
	d, err := b.Start(ctx, home)
	if err != nil {
		return err
	}
	defer d.Kill()
	cl := d.Client(2)
	defer cl.Close()
	pace.Wait(ctx, min(bench.IdleTime, h.calm))
	if g.Idle, err = d.RSS(); err != nil {
		return err
	}
	for i, into := range []struct {
		rss     *int64
		request *int
	}{{&g.Once, &g.Request}, {&g.Twice, &g.RequestLast}} {
		f := exchange.Filling{
			Run: fmt.Sprintf("grow%d", i), Sessions: exchange.Names("growing", 1), Each: h.messages, Parallel: 1, Text: exchange.HistoryText(h.bytes),
		}
		if err := f.Fill(ctx, cl); err != nil {
			return fmt.Errorf("%w\n%s", err, daemon.LogTail(home.LogFile()))
		}
		pace.Wait(ctx, h.calm)
		if *into.rss, err = d.RSS(); err != nil {
			return err
		}
		*into.request = m.Tally(fmt.Sprintf("mk-grow%d-0-%d", i, h.messages-1)).Bytes
	}
	if err := d.Stop(bench.StopTime); err != nil {
		return fmt.Errorf("%w\n%s", err, daemon.LogTail(home.LogFile()))
	}
	journal, err := store.ReadJournal(ctx, home.Data())
	for _, e := range journal {
		if e.Kind() == "session.compacted" {
			g.Compactions++
		}
	}
	return err
}

func (r *historyReport) goals() {
	bound := fmt.Sprintf("≤ %.1f×", goalHistory)
	for _, l := range r.Lines {
		what := fmt.Sprintf(", %d messages to new, %d sessions, sync %s", r.Messages, l.Sessions, l.Sync)
		r.Goals = append(r.Goals,
			result.Goal("processor time of a turn"+what, bound, fmt.Sprintf("%.2f×", l.CPU), l.CPU <= goalHistory).
				As("history.cpu_ratio"+l.Key()).In("×", l.CPU),
			result.Goal("added latency p50"+what, bound, fmt.Sprintf("%.2f×", l.AddedP50), l.AddedP50 <= goalHistory).
				As("history.added_ratio"+l.Key()).In("×", l.AddedP50),
		)
	}
	flat := stat.Ratio(r.Growth.Twice, r.Growth.Once)
	r.Goals = append(r.Goals, result.Goal(
		fmt.Sprintf("memory beside one session, %d messages to %d", 2*r.Messages, r.Messages), fmt.Sprintf("≤ %.1f×", goalFlat),
		fmt.Sprintf("%.2f×", flat), flat <= goalFlat).As("history.flat").In("×", flat))
}

func (r historyReport) Print(p console.Printer) {
	p.Say("A plain turn in sessions with %d messages of %d bytes, beside new sessions of the same daemon: medians of %d rounds,", r.Messages, r.Bytes, r.Rounds)
	p.Say("times in ms as p50/p99. added: message stored to answer stored, less the model's own time.\n")
	exchange.PrintCompared(p, r.Lines, "old", "new")
	p.Say("\n%d compactions in the journals, %d failed", r.Compactions, r.Failed)
	g := r.Growth
	p.Say("memory beside one session: %.1f MB idle, %.1f MB after %d messages, %.1f MB after %d; %d compactions; the last requests had %d and %d bytes",
		float64(g.Idle)/1e6, float64(g.Once)/1e6, r.Messages, float64(g.Twice)/1e6, 2*r.Messages, g.Compactions, g.Request, g.RequestLast)
	if r.Messages < fullHistory {
		p.Say("the goal is meant for %d messages", fullHistory)
	}
	bench.PrintGoals(p, r.Goals)
}
