package turn

import (
	"context"
	"fmt"
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

// dormantReport is what `turn --dormant N --json` prints. Durations are in nanoseconds, memory in bytes; fields are only added.
type dormantReport struct {
	Sessions int                 `json:"dormant_sessions"`
	Rounds   int                 `json:"rounds"`
	Homes    []dormantHome       `json:"homes"`
	Lines    []exchange.Compared `json:"lines"` // new sessions beside dormant ones, and alone
	Goals    []result.Figure     `json:"goals"`
}

// dormantHome is a pair of homes with one sync mode, after their second start.
type dormantHome struct {
	Sync       string        `json:"sync"`
	Ready      time.Duration `json:"ready_ns"`       // with the dormant sessions
	ReadyEmpty time.Duration `json:"ready_empty_ns"` // without
	RSS        int64         `json:"rss_bytes"`      // at rest, before anything was measured
	RSSEmpty   int64         `json:"rss_empty_bytes"`
}

const (
	goalDormant   = 1.1
	dormantSender = 64 // that fill a home at the same time
)

// besideDormant measures turns in new sessions of a daemon that has many others on disk, beside one that has none. Both run all
// the time and are measured in turn.
func besideDormant(ctx context.Context, b *bench.Bench, cells []exchange.Cell, t bench.Timing, rounds int, n int, calm time.Duration) (dormantReport, error) {
	r := dormantReport{Sessions: n, Rounds: rounds}
	var syncs []string
	bySync := map[string][]exchange.Cell{}
	for _, c := range cells {
		if bySync[c.Sync] == nil {
			syncs = append(syncs, c.Sync)
		}
		bySync[c.Sync] = append(bySync[c.Sync], c)
	}
	for _, sync := range syncs {
		h, lines, err := pair(ctx, b, bySync[sync], t, rounds, n, calm)
		if err != nil {
			return r, fmt.Errorf("sync %s: %w", sync, err)
		}
		r.Homes, r.Lines = append(r.Homes, h), append(r.Lines, lines...)
	}
	for _, l := range r.Lines {
		what := fmt.Sprintf(", %d dormant sessions to none, %d sessions, sync %s", n, l.Sessions, l.Sync)
		bound := fmt.Sprintf("≤ %.1f×", goalDormant)
		r.Goals = append(r.Goals,
			result.Goal("processor time of a turn"+what, bound, fmt.Sprintf("%.2f×", l.CPU), l.CPU <= goalDormant).
				As("dormant.cpu_ratio"+l.Key()).In("×", l.CPU),
			result.Goal("added latency p50"+what, bound, fmt.Sprintf("%.2f×", l.AddedP50), l.AddedP50 <= goalDormant).
				As("dormant.added_ratio"+l.Key()).In("×", l.AddedP50),
		)
	}
	return r, nil
}

// pair has the homes of one sync mode.
func pair(
	ctx context.Context, b *bench.Bench, cells []exchange.Cell, t bench.Timing, rounds, n int, calm time.Duration,
) (h dormantHome, lines []exchange.Compared, err error) {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return h, nil, err
	}
	defer m.Close()
	h.Sync = cells[0].Sync
	var homes [2]daemon.Home // with and without
	for i, sessions := range []int{n, 1} {
		if homes[i], err = slept(ctx, b, fmt.Sprintf("dormant-%s%d", h.Sync, i), h.Sync, sessions, m); err != nil {
			return h, nil, err
		}
	}
	var d [2]*bench.Running
	for i := range d {
		if d[i], err = b.Start(ctx, homes[i]); err != nil {
			return h, nil, err
		}
		defer d[i].Kill()
	}
	h.Ready, h.ReadyEmpty = d[0].ReadyAfter, d[1].ReadyAfter
	pace.Wait(ctx, calm)
	if h.RSS, err = d[0].RSS(); err != nil {
		return h, nil, err
	}
	if h.RSSEmpty, err = d[1].RSS(); err != nil {
		return h, nil, err
	}
	readings := [2]map[exchange.Cell][]exchange.Reading{{}, {}}
	for round := range rounds {
		for _, c := range cells {
			b.P.Note("round %d of %d: sync %s, %d sessions beside %d dormant ones, and alone", round+1, rounds, c.Sync, c.Sessions, n)
			for k := range d {
				i := (k + round) % 2
				x := exchange.Loop{
					Run: fmt.Sprintf("d%d%sn%dr%d", i, c.Sync[:1], c.Sessions, round), Sessions: c.Sessions,
					PerSession: t.PerSession, Warmup: t.Warmup, Duration: t.Duration,
				}
				got, err := exchange.Measure(ctx, d[i], x, m)
				if err != nil {
					return h, nil, err
				}
				readings[i][c] = append(readings[i][c], got)
			}
		}
	}
	for i := range d {
		if err := d[i].Stop(bench.StopTime); err != nil {
			return h, nil, fmt.Errorf("%w\n%s", err, daemon.LogTail(homes[i].LogFile()))
		}
		journal, err := store.ReadJournal(ctx, homes[i].Data())
		if err != nil {
			return h, nil, err
		}
		for _, all := range readings[i] {
			for k := range all {
				all[k].Added, _ = exchange.AddedOf(journal, all[k].Markers, m)
			}
		}
	}
	for _, c := range cells {
		lines = append(lines, exchange.Compare(c, readings[0][c], readings[1][c]))
	}
	return h, lines, nil
}

// slept makes a home with sessions of one answered message each, and stops its daemon.
func slept(ctx context.Context, b *bench.Bench, name, sync string, sessions int, m *fakemodel.Server) (daemon.Home, error) {
	b.P.Note("filling a home with %d sessions, sync %s", sessions, sync)
	h, err := b.Home(name, sync, m.URL())
	if err != nil {
		return h, err
	}
	d, err := b.Start(ctx, h)
	if err != nil {
		return h, err
	}
	defer d.Kill()
	cl := d.Client(dormantSender + 1)
	defer cl.Close()
	f := exchange.Filling{
		Run: fmt.Sprintf("s%s%d", sync[:1], sessions), Sessions: exchange.Names("dormant", sessions), Each: 1,
		Parallel: min(dormantSender, sessions), Text: "remember this",
	}
	if err := f.Fill(ctx, cl); err != nil {
		return h, fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	if err := d.Stop(bench.StopTime); err != nil {
		return h, fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	return h, nil
}

func (r dormantReport) Print(p console.Printer) {
	p.Say("A plain turn in new sessions of a daemon with %d dormant sessions, beside a daemon without: medians of %d rounds,", r.Sessions, r.Rounds)
	p.Say("times in ms as p50/p99. added: message stored to answer stored, less the model's own time.\n")
	exchange.PrintCompared(p, r.Lines, "full", "empty")
	p.Say("")
	for _, h := range r.Homes {
		p.Say("sync %s: ready after %.0f ms with them, %.0f ms without; %.1f MB at rest with them, %.1f MB without",
			h.Sync, stat.MS(h.Ready), stat.MS(h.ReadyEmpty), float64(h.RSS)/1e6, float64(h.RSSEmpty)/1e6)
	}
	bench.PrintGoals(p, r.Goals)
}
