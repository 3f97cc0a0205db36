// Package start measures the start of a daemon, its idle memory, short commands, and its memory after many turns.
package start

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
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
)

// startReport is what --json prints. Durations are in nanoseconds, memory in bytes; fields are only added.
type startReport struct {
	Ready       stat.Spread     `json:"ready"`       // from exec to the first answer, empty home
	ReadyAgain  stat.Spread     `json:"ready_again"` // the same home, stopped cleanly before
	Idle        int64           `json:"idle_rss"`
	Turns       int             `json:"turns"`
	After       int64           `json:"rss_after_turns"`
	Growth      float64         `json:"growth"` // after / idle
	Version     time.Duration   `json:"version_cpu_ns"`
	VersionWall time.Duration   `json:"version_wall_ns"`
	Binary      int64           `json:"binary_bytes"`
	Goals       []result.Figure `json:"goals"`

	first, again []time.Duration
	memory       []result.Point // after each slice of turns, and at rest
}

// Goals of the design that this scenario measures.
const (
	goalReady      = 150 * time.Millisecond
	goalVersionCPU = 100 * time.Millisecond
	goalBinary     = 45e6
	goalIdle       = 45e6
	goalGrowth     = 1.3
	slice          = 2 * time.Second // of turns between two looks at their number
)

// Command measures it.
func Command(ctx context.Context, args []string, p console.Printer) error {
	fs := p.Flags("start")
	f := bench.AddFlags(fs)
	starts := fs.Int("starts", 7, "of the daemon on an empty home, and on the same home again")
	turns := fs.Int("turns", 2000, "after which memory is read once more; 0: none")
	sessions := fs.Int("sessions", 8, "that talk at the same time")
	perSession := fs.Int("per-session", 20, "turns until a session is replaced by a new one")
	limit := fs.Duration("limit", 10*time.Minute, "for all turns together")
	var strict bool
	bench.AddStrict(fs, &strict)
	if err := console.Parse(fs, args); err != nil {
		return err
	}
	if *starts < 1 || *turns < 0 || *sessions < 1 || *perSession < 1 {
		return console.Usage(fmt.Errorf("starts, sessions and per-session are at least 1"))
	}
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, *limit, fmt.Errorf("not done within %s", *limit))
	defer cancel()
	x := exchange.Loop{Sessions: *sessions, PerSession: *perSession, Duration: slice}
	return bench.Measured(ctx, f, strict, p, func(ctx context.Context, b *bench.Bench) (startReport, error) {
		return startUp(ctx, b, *starts, *turns, x, m)
	})
}

func startUp(ctx context.Context, b *bench.Bench, starts, turns int, x exchange.Loop, m *fakemodel.Server) (r startReport, err error) {
	if err := startAll(ctx, b, starts, m, &r); err != nil {
		return r, err
	}
	if err := short(ctx, b, starts, &r); err != nil {
		return r, err
	}
	if err := memory(ctx, b, turns, x, m, &r); err != nil {
		return r, err
	}
	r.goals()
	return r, nil
}

func (r startReport) Print(p console.Printer) { bench.PrintGoals(p, r.Goals) }
func (r startReport) All() []result.Figure    { return r.Goals }
func (startReport) Promises() []result.Figure { return nil }

func startAll(ctx context.Context, b *bench.Bench, n int, m *fakemodel.Server, r *startReport) error {
	var first, again []time.Duration
	for i := range n {
		h, err := b.Home(fmt.Sprintf("start-%d", i), "always", m.URL())
		if err != nil {
			return err
		}
		for _, into := range []*[]time.Duration{&first, &again} {
			d, err := b.Start(ctx, h)
			if err != nil {
				return err
			}
			*into = append(*into, d.ReadyAfter)
			if err := d.Stop(bench.StopTime); err != nil {
				return fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
			}
		}
	}
	r.first, r.again = first, again
	r.Ready, r.ReadyAgain = stat.SpreadOf(first), stat.SpreadOf(again)
	return nil
}

// short measures a command that never opens the store, and the binary.
func short(ctx context.Context, b *bench.Bench, n int, r *startReport) error {
	var wall, used []time.Duration
	for range n {
		w, c, err := daemon.Command(ctx, b.Binary, "version")
		if err != nil {
			return err
		}
		wall, used = append(wall, w), append(used, c)
	}
	r.VersionWall, r.Version = stat.Median(wall), stat.Median(used)
	info, err := os.Stat(b.Binary)
	if err != nil {
		return err
	}
	r.Binary = info.Size()
	return nil
}

func memory(ctx context.Context, b *bench.Bench, turns int, x exchange.Loop, m *fakemodel.Server, r *startReport) error {
	h, err := b.Home("memory", "interval", m.URL())
	if err != nil {
		return err
	}
	d, err := b.Start(ctx, h)
	if err != nil {
		return err
	}
	defer d.Kill()
	pace.Wait(ctx, bench.IdleTime)
	if r.Idle, err = d.RSS(); err != nil {
		return err
	}
	began := time.Now()
	look := func() error {
		rss, err := d.RSS()
		r.memory = append(r.memory, result.Point{At: time.Since(began).Seconds(), Value: float64(rss)})
		return err
	}
	cl := d.Client(x.Sessions + 1)
	defer cl.Close()
	for i := 0; r.Turns < turns; i++ {
		x.Run = fmt.Sprintf("mem%d", i)
		e, err := x.Drive(ctx, cl)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
		}
		r.Turns += e.All
		b.P.Note("%d of %d turns", r.Turns, turns)
		if err := look(); err != nil {
			return err
		}
	}
	pace.Wait(ctx, bench.CalmTime)
	if err := look(); err != nil {
		return err
	}
	if r.After, err = d.RSS(); err != nil {
		return err
	}
	r.Growth = stat.Ratio(r.After, r.Idle)
	return d.Stop(bench.StopTime)
}

func (r *startReport) goals() {
	mb := func(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
	r.Goals = []result.Figure{
		result.Goal(
			"start to ready, empty home (median; max)", "≤ 150 ms",
			fmt.Sprintf("%.0f ms; %.0f ms", stat.MS(r.Ready.P50), stat.MS(r.Ready.Max)), r.Ready.P50 <= goalReady,
		).As("start.ready").In("ms", stat.AllMS(r.first...)...),
		result.Goal(
			"start to ready, the home again (median; max)", "≤ 150 ms",
			fmt.Sprintf("%.0f ms; %.0f ms", stat.MS(r.ReadyAgain.P50), stat.MS(r.ReadyAgain.Max)), r.ReadyAgain.P50 <= goalReady,
		).As("start.again").In("ms", stat.AllMS(r.again...)...),
		result.Goal("jetclaw version, CPU (wall)", "≤ 100 ms", fmt.Sprintf("%.0f ms (%.0f ms)", stat.MS(r.Version), stat.MS(r.VersionWall)),
			r.Version <= goalVersionCPU).
			As("start.version").In("ms", stat.MS(r.Version)),
		result.Goal("binary, stripped", "≤ 45 MB", mb(r.Binary), r.Binary <= goalBinary).As("start.binary").In("B", float64(r.Binary)),
		result.Goal("idle memory", "≤ 45 MB", mb(r.Idle), r.Idle <= goalIdle).As("start.idle").In("B", float64(r.Idle)),
	}
	if r.Turns > 0 {
		r.Goals = append(r.Goals, result.Goal(
			fmt.Sprintf("memory after %d turns", r.Turns), "≤ 1.3× idle",
			fmt.Sprintf("%s, %.2f×", mb(r.After), r.Growth), r.Growth <= goalGrowth).As("start.after").In("B", float64(r.After)).Beside(float64(r.Idle)))
	}
}
