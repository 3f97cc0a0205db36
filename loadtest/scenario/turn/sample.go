package turn

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/figure/floor"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
)

// sample is one round of a cell: the product, and both floors right after it.
type sample struct {
	Turn      stat.Spread   `json:"turn"`  // the whole exchange at the client
	Added     stat.Spread   `json:"added"` // message.received stored → turn.completed stored, minus the model's own time
	Model     stat.Spread   `json:"model"` // the fake model's own time
	PerSecond float64       `json:"per_second"`
	CPU       time.Duration `json:"cpu_ns"` // of the daemon, a turn
	RSS       int64         `json:"rss_bytes"`
	Turns     int           `json:"turns"`

	Bus          floor.Result `json:"floor_bus"`
	HTTP         stat.Spread  `json:"floor_http"`
	HTTPPerSec   float64      `json:"floor_http_per_second"`
	Shape        floor.Shape  `json:"shape"`
	measuredTurn []string     // markers

	turnHist, httpHist stat.Histogram
}

// measure runs one round of a cell.
func measure(ctx context.Context, b *bench.Bench, c exchange.Cell, t bench.Timing, round int) (sample, error) {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return sample{}, err
	}
	defer m.Close()
	run := fmt.Sprintf("%s%dr%d", c.Sync[:1], c.Sessions, round)
	x := exchange.Loop{Run: run, Text: t.Text, Sessions: c.Sessions, PerSession: t.PerSession, Warmup: t.Warmup, Duration: t.Duration}
	s, err := product(ctx, b, c, x, m)
	if err != nil {
		return sample{}, fmt.Errorf("%d sessions, sync %s: %w", c.Sessions, c.Sync, err)
	}
	s.Bus, err = floor.Bus(ctx, floor.Job{Sync: c.Sync, Sessions: c.Sessions, PerSession: t.PerSession, Warmup: t.Warmup, Duration: t.Duration, Shape: s.Shape})
	if err != nil {
		return sample{}, err
	}
	web, err := floor.StartWebChild(ctx, m.URL())
	if err != nil {
		return sample{}, err
	}
	cl := client.New(web.URL, "", c.Sessions+1)
	defer cl.Close()
	x.Run += "f"
	e, err := x.Drive(ctx, cl)
	if cerr := web.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return sample{}, fmt.Errorf("http floor: %w", err)
	}
	s.HTTP, s.HTTPPerSec, s.httpHist = stat.SpreadOf(e.Took), e.PerSecond, stat.HistogramOf(e.Took)
	return s, nil
}

// product measures jetclaw itself, then reads its journal.
func product(ctx context.Context, b *bench.Bench, c exchange.Cell, x exchange.Loop, m *fakemodel.Server) (s sample, err error) {
	h, err := b.Home("turn-"+x.Run, c.Sync, m.URL())
	if err != nil {
		return sample{}, err
	}
	defer func() {
		if err == nil && !b.Keep {
			_ = os.RemoveAll(h.Dir)
		}
	}()
	d, err := b.Start(ctx, h)
	if err != nil {
		return sample{}, err
	}
	defer d.Kill()
	var used [2]time.Duration
	var cpuErr error
	x.AtOpen = func() { used[0], cpuErr = d.CPU() }
	x.AtShut = func() {
		if cpuErr == nil {
			used[1], cpuErr = d.CPU()
		}
		s.RSS, _ = d.RSS()
	}
	cl := d.Client(c.Sessions + 1)
	defer cl.Close()
	e, err := x.Drive(ctx, cl)
	if err != nil {
		return sample{}, fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	if cpuErr != nil {
		return sample{}, cpuErr
	}
	if err := d.Stop(bench.StopTime); err != nil {
		return sample{}, fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	s.Turn, s.Turns, s.measuredTurn = stat.SpreadOf(e.Took), len(e.Took), e.Markers
	s.PerSecond, s.turnHist = e.PerSecond, stat.HistogramOf(e.Took)
	s.CPU = (used[1] - used[0]) / time.Duration(max(1, e.Ended))
	return s, s.read(ctx, h.Data(), m)
}

// read takes the shape and the stored times from the journal.
func (s *sample) read(ctx context.Context, data string, m *fakemodel.Server) error {
	journal, bells, err := store.Left(ctx, data)
	if err != nil {
		return err
	}
	if err := exchange.CallsFailed(journal); err != nil {
		return err
	}
	if s.Shape, err = floor.ShapeOf(journal, bells); err != nil {
		return err
	}
	s.Added, s.Model = exchange.AddedOf(journal, s.measuredTurn, m)
	return nil
}
