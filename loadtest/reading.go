package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/client"
	"github.com/jetclaw/jetclaw/loadtest/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/marker"
	"github.com/jetclaw/jetclaw/loadtest/stat"
	"github.com/jetclaw/jetclaw/loadtest/store"
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
	markers   []string
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

func each[A, B any](from []A, f func(A) B) []B {
	out := make([]B, 0, len(from))
	for _, a := range from {
		out = append(out, f(a))
	}
	return out
}

// compared are two readings of the same rounds, and their ratios: each is the median of the rounds' own.
type compared struct {
	cell
	One      reading `json:"one"`   // what is in question
	Other    reading `json:"other"` // what it is compared with
	CPU      float64 `json:"cpu_ratio"`
	AddedP50 float64 `json:"added_p50_ratio"`
	AddedP99 float64 `json:"added_p99_ratio"`
	TurnP50  float64 `json:"turn_p50_ratio"`
}

func compare(c cell, one, other []reading) compared {
	ratio := func(f func(reading) time.Duration) float64 {
		var all []float64
		for i := range one {
			all = append(all, stat.Ratio(f(one[i]), f(other[i])))
		}
		return stat.Median(all)
	}
	return compared{
		cell: c, One: medianReading(one), Other: medianReading(other),
		CPU:      ratio(func(r reading) time.Duration { return r.CPU }),
		AddedP50: ratio(func(r reading) time.Duration { return r.Added.P50 }),
		AddedP99: ratio(func(r reading) time.Duration { return r.Added.P99 }),
		TurnP50:  ratio(func(r reading) time.Duration { return r.Turn.P50 }),
	}
}

// filling is what sessions are given before anything is measured.
type filling struct {
	Run      string
	Sessions []string
	Each     int // messages of a session
	Parallel int
	Text     string // behind the marker
}

// fill sends them, each when the one before has its answer; the first that goes wrong ends it.
func (f filling) fill(ctx context.Context, cl *client.Client) error {
	return crews(ctx, len(f.Sessions), f.Parallel, func(ctx context.Context, i int) error { return f.session(ctx, cl, i) })
}

// crews does n things, some at the same time; the first that goes wrong ends it.
func crews(ctx context.Context, n, parallel int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range parallel {
		wg.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

func (f filling) session(ctx context.Context, cl *client.Client, i int) error {
	for n := range f.Each {
		m := marker.New(f.Run, i, n)
		if err := exchange(ctx, cl, client.Message{Session: f.Sessions[i], Text: m + " " + f.Text, Key: m}, m); err != nil {
			return err
		}
	}
	return nil
}

// names of n sessions.
func names(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = prefix + "-" + strconv.Itoa(i)
	}
	return out
}

// history is a text of about n bytes, as people write.
func historyText(n int) string {
	const words = "the quick brown fox jumps over the lazy dog and then goes home to write about it "
	return strings.Repeat(words, n/len(words)+1)[:max(1, n)]
}

// journalOf reads the journal of a stopped daemon.
func journalOf(ctx context.Context, data string) ([]store.Record, error) {
	st, err := store.Open(data)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return st.Journal(ctx)
}

// left is what a stopped daemon has left: its journal, and what of it nobody was told.
func left(ctx context.Context, data string) ([]store.Record, []store.Bell, error) {
	st, err := store.Open(data)
	if err != nil {
		return nil, nil, err
	}
	defer st.Close()
	journal, err := st.Journal(ctx)
	if err != nil {
		return nil, nil, err
	}
	bells, err := st.Bells(ctx)
	return journal, bells, err
}
