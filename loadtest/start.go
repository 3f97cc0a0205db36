package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/daemon"
	"github.com/jetclaw/jetclaw/loadtest/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/result"
	"github.com/jetclaw/jetclaw/loadtest/stat"
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

func startCommand(ctx context.Context, args []string, p printer) error {
	fs := p.flags("start")
	f := addBenchFlags(fs)
	starts := fs.Int("starts", 7, "of the daemon on an empty home, and on the same home again")
	turns := fs.Int("turns", 2000, "after which memory is read once more; 0: none")
	sessions := fs.Int("sessions", 8, "that talk at the same time")
	perSession := fs.Int("per-session", 20, "turns until a session is replaced by a new one")
	limit := fs.Duration("limit", 10*time.Minute, "for all turns together")
	var strict bool
	addStrict(fs, &strict)
	if err := parse(fs, args); err != nil {
		return err
	}
	if *starts < 1 || *turns < 0 || *sessions < 1 || *perSession < 1 {
		return asUsage(fmt.Errorf("starts, sessions and per-session are at least 1"))
	}
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, *limit, fmt.Errorf("not done within %s", *limit))
	defer cancel()
	x := exchanges{Sessions: *sessions, PerSession: *perSession, Duration: slice}
	return measured(ctx, f, strict, p, func(ctx context.Context, b *bench) (startReport, error) {
		return b.startUp(ctx, *starts, *turns, x, m)
	})
}

func (b *bench) startUp(ctx context.Context, starts, turns int, x exchanges, m *fakemodel.Server) (r startReport, err error) {
	if err := b.starts(ctx, starts, m, &r); err != nil {
		return r, err
	}
	if err := b.short(ctx, starts, &r); err != nil {
		return r, err
	}
	if err := b.memory(ctx, turns, x, m, &r); err != nil {
		return r, err
	}
	r.goals()
	return r, nil
}

func (r startReport) print(p printer)         { printGoals(p, r.Goals) }
func (r startReport) all() []result.Figure    { return r.Goals }
func (startReport) promises() []result.Figure { return nil }

func (b *bench) starts(ctx context.Context, n int, m *fakemodel.Server, r *startReport) error {
	var first, again []time.Duration
	for i := range n {
		h, err := b.home(fmt.Sprintf("start-%d", i), "always", m.URL())
		if err != nil {
			return err
		}
		for _, into := range []*[]time.Duration{&first, &again} {
			d, err := b.start(ctx, h)
			if err != nil {
				return err
			}
			*into = append(*into, d.ReadyAfter)
			if err := d.Stop(stopTime); err != nil {
				return fmt.Errorf("%w\n%s", err, logTail(h.LogFile()))
			}
		}
	}
	r.first, r.again = first, again
	r.Ready, r.ReadyAgain = stat.SpreadOf(first), stat.SpreadOf(again)
	return nil
}

// short measures a command that never opens the store, and the binary.
func (b *bench) short(ctx context.Context, n int, r *startReport) error {
	var wall, used []time.Duration
	for range n {
		w, c, err := daemon.Command(ctx, b.binary, "version")
		if err != nil {
			return err
		}
		wall, used = append(wall, w), append(used, c)
	}
	r.VersionWall, r.Version = stat.Median(wall), stat.Median(used)
	info, err := os.Stat(b.binary)
	if err != nil {
		return err
	}
	r.Binary = info.Size()
	return nil
}

func (b *bench) memory(ctx context.Context, turns int, x exchanges, m *fakemodel.Server, r *startReport) error {
	h, err := b.home("memory", "interval", m.URL())
	if err != nil {
		return err
	}
	d, err := b.start(ctx, h)
	if err != nil {
		return err
	}
	defer d.Kill()
	wait(ctx, idleTime)
	if r.Idle, err = d.RSS(); err != nil {
		return err
	}
	began := time.Now()
	look := func() error {
		rss, err := d.RSS()
		r.memory = append(r.memory, result.Point{At: time.Since(began).Seconds(), Value: float64(rss)})
		return err
	}
	cl := d.client(x.Sessions + 1)
	defer cl.Close()
	for i := 0; r.Turns < turns; i++ {
		x.Run = fmt.Sprintf("mem%d", i)
		e, err := x.drive(ctx, cl)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, logTail(h.LogFile()))
		}
		r.Turns += e.All
		b.p.note("%d of %d turns", r.Turns, turns)
		if err := look(); err != nil {
			return err
		}
	}
	wait(ctx, calmTime)
	if err := look(); err != nil {
		return err
	}
	if r.After, err = d.RSS(); err != nil {
		return err
	}
	r.Growth = stat.Ratio(r.After, r.Idle)
	return d.Stop(stopTime)
}

func (r *startReport) goals() {
	mb := func(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
	r.Goals = []result.Figure{
		result.Goal(
			"start to ready, empty home (median; max)", "≤ 150 ms",
			fmt.Sprintf("%.0f ms; %.0f ms", ms(r.Ready.P50), ms(r.Ready.Max)), r.Ready.P50 <= goalReady,
		).As("start.ready").In("ms", in(r.first...)...),
		result.Goal(
			"start to ready, the home again (median; max)", "≤ 150 ms",
			fmt.Sprintf("%.0f ms; %.0f ms", ms(r.ReadyAgain.P50), ms(r.ReadyAgain.Max)), r.ReadyAgain.P50 <= goalReady,
		).As("start.again").In("ms", in(r.again...)...),
		result.Goal("jetclaw version, CPU (wall)", "≤ 100 ms", fmt.Sprintf("%.0f ms (%.0f ms)", ms(r.Version), ms(r.VersionWall)), r.Version <= goalVersionCPU).
			As("start.version").In("ms", ms(r.Version)),
		result.Goal("binary, stripped", "≤ 45 MB", mb(r.Binary), r.Binary <= goalBinary).As("start.binary").In("B", float64(r.Binary)),
		result.Goal("idle memory", "≤ 45 MB", mb(r.Idle), r.Idle <= goalIdle).As("start.idle").In("B", float64(r.Idle)),
	}
	if r.Turns > 0 {
		r.Goals = append(r.Goals, result.Goal(
			fmt.Sprintf("memory after %d turns", r.Turns), "≤ 1.3× idle",
			fmt.Sprintf("%s, %.2f×", mb(r.After), r.Growth), r.Growth <= goalGrowth).As("start.after").In("B", float64(r.After)).Beside(float64(r.Idle)))
	}
}
