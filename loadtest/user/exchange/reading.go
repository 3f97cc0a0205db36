package exchange

import (
	"context"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

// Reading is what turns cost in one window. Two of them, taken of one run, are compared.
type Reading struct {
	Turn      stat.Spread   `json:"turn"`  // the whole exchange at the client
	Added     stat.Spread   `json:"added"` // message.received stored → turn.completed stored, minus the model's own time
	PerSecond float64       `json:"per_second"`
	CPU       time.Duration `json:"cpu_ns"`        // of the daemon, a turn
	Request   int           `json:"request_bytes"` // of a model request, median
	Turns     int           `json:"turns"`
	RSS       int64         `json:"rss_bytes"` // of the daemon when the window shut
	Markers   []string      `json:"-"`         // of the measured messages
}

// Measure drives exchanges against a daemon and measures it. Added is known only from the journal of the stopped daemon.
func Measure(ctx context.Context, r *bench.Running, x Loop, m *fakemodel.Server) (Reading, error) {
	var out Reading
	var used [2]time.Duration
	var failed error
	x.AtOpen = func() { used[0], failed = r.CPU() }
	x.AtShut = func() {
		if failed == nil {
			used[1], failed = r.CPU()
		}
		if failed == nil {
			out.RSS, failed = r.RSS()
		}
	}
	cl := r.Client(x.Sessions + 1)
	defer cl.Close()
	e, err := x.Drive(ctx, cl)
	if err == nil {
		err = failed
	}
	if err != nil {
		return Reading{}, fmt.Errorf("%s: %w\n%s", x.Run, err, daemon.LogTail(r.LogFile()))
	}
	out.Turn, out.PerSecond, out.Turns, out.Markers = stat.SpreadOf(e.Took), e.PerSecond, len(e.Took), e.Markers
	out.CPU = (used[1] - used[0]) / time.Duration(max(1, e.Ended))
	var bytes []int
	for _, mk := range e.Markers {
		bytes = append(bytes, m.Tally(mk).Bytes)
	}
	out.Request = stat.Median(bytes)
	return out, nil
}

// medianReading takes each figure's median over several rounds.
func medianReading(rounds []Reading) Reading {
	m := Reading{
		Turn:      stat.MedianSpread(stat.Each(rounds, func(r Reading) stat.Spread { return r.Turn })),
		Added:     stat.MedianSpread(stat.Each(rounds, func(r Reading) stat.Spread { return r.Added })),
		PerSecond: stat.Median(stat.Each(rounds, func(r Reading) float64 { return r.PerSecond })),
		CPU:       stat.Median(stat.Each(rounds, func(r Reading) time.Duration { return r.CPU })),
		Request:   stat.Median(stat.Each(rounds, func(r Reading) int { return r.Request })),
		RSS:       stat.Median(stat.Each(rounds, func(r Reading) int64 { return r.RSS })),
	}
	for _, r := range rounds {
		m.Turns += r.Turns
	}
	return m
}
