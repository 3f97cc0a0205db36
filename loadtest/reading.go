package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/stat"
)

// reading is what turns cost in one window. Two of them, taken of one run, are compared.
type reading struct {
	Turn      stat.Spread   `json:"turn"`  // the whole exchange at the client
	Added     stat.Spread   `json:"added"` // message.received stored → turn.completed stored, minus the model's own time
	PerSecond float64       `json:"per_second"`
	CPU       time.Duration `json:"cpu_ns"`        // of the daemon, a turn
	Request   int           `json:"request_bytes"` // of a model request, median
	Turns     int           `json:"turns"`
	RSS       int64         `json:"rss_bytes"` // of the daemon when the window shut
	markers   []string      `json:"-"`
}

// read drives exchanges against a daemon and measures it. Added is known only from the journal of the stopped daemon.
func (r *running) read(ctx context.Context, x exchanges, m *fakemodel.Server) (reading, error) {
	var out reading
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
	cl := r.client(x.Sessions + 1)
	defer cl.Close()
	e, err := x.drive(ctx, cl)
	if err == nil {
		err = failed
	}
	if err != nil {
		return reading{}, fmt.Errorf("%s: %w\n%s", x.Run, err, logTail(r.LogFile()))
	}
	out.Turn, out.PerSecond, out.Turns, out.markers = stat.SpreadOf(e.Took), e.PerSecond, len(e.Took), e.Markers
	out.CPU = (used[1] - used[0]) / time.Duration(max(1, e.Ended))
	var bytes []int
	for _, mk := range e.Markers {
		bytes = append(bytes, m.Tally(mk).Bytes)
	}
	out.Request = stat.Median(bytes)
	return out, nil
}

// medianReading takes each figure's median over several rounds.
func medianReading(rounds []reading) reading {
	m := reading{
		Turn:      stat.MedianSpread(each(rounds, func(r reading) stat.Spread { return r.Turn })),
		Added:     stat.MedianSpread(each(rounds, func(r reading) stat.Spread { return r.Added })),
		PerSecond: stat.Median(each(rounds, func(r reading) float64 { return r.PerSecond })),
		CPU:       stat.Median(each(rounds, func(r reading) time.Duration { return r.CPU })),
		Request:   stat.Median(each(rounds, func(r reading) int { return r.Request })),
		RSS:       stat.Median(each(rounds, func(r reading) int64 { return r.RSS })),
	}
	for _, r := range rounds {
		m.Turns += r.Turns
	}
	return m
}
