package mcp

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
)

// deadServers compares plain turns of a daemon whose servers are dead with those of one that has none.
type deadServers struct {
	exchange.Compared
	First      time.Duration `json:"first_ns"` // the first turn of a daemon, median
	FirstNone  time.Duration `json:"first_none_ns"`
	FirstRatio float64       `json:"first_ratio"`
}

// Servers that never work: one is not there, one ends at once, one never says a word.
func broken() []daemon.MCPServer {
	return []daemon.MCPServer{
		{Name: "absent", Argv: []string{"/nowhere/no-such-program"}},
		{Name: "dead", Argv: []string{"false"}},
		{Name: "mute", Argv: []string{"sleep", "86400"}},
	}
}

func measureDead(ctx context.Context, b *bench.Bench, t bench.Timing, rounds int) (deadServers, error) {
	var with, none []exchange.Reading
	var first, firstNone []time.Duration
	for round := range rounds {
		b.P.Note("round %d of %d: plain turns beside dead servers, and beside none", round+1, rounds)
		both := []func() error{
			func() error {
				r, f, err := plain(ctx, b, fmt.Sprintf("dead%d", round), broken(), t)
				with, first = append(with, r), append(first, f)
				return err
			},
			func() error {
				r, f, err := plain(ctx, b, fmt.Sprintf("none%d", round), nil, t)
				none, firstNone = append(none, r), append(firstNone, f)
				return err
			},
		}
		if round%2 == 1 {
			slices.Reverse(both)
		}
		for _, measure := range both {
			if err := measure(); err != nil {
				return deadServers{}, fmt.Errorf("dead servers: %w", err)
			}
		}
	}
	r := deadServers{
		Compared: exchange.Compare(exchange.Cell{Sync: "interval", Sessions: 1}, with, none), First: stat.Median(first), FirstNone: stat.Median(firstNone),
	}
	r.FirstRatio = stat.Ratio(r.First, r.FirstNone)
	return r, nil
}

// plain measures turns without a call, and the first of all before them.
func plain(ctx context.Context, b *bench.Bench, run string, servers []daemon.MCPServer, t bench.Timing) (r exchange.Reading, first time.Duration, err error) {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return r, 0, err
	}
	defer m.Close()
	h, err := b.HomeOf("mcp-"+run, daemon.Config{Sync: "interval", ModelURL: m.URL(), MCP: servers})
	if err != nil {
		return r, 0, err
	}
	d, err := b.Start(ctx, h)
	if err != nil {
		return r, 0, err
	}
	defer d.Kill()
	cl := d.Client(1)
	defer cl.Close()
	mk := marker.New(run+"f", 0, 0)
	began := time.Now()
	if err := exchange.One(ctx, cl, client.Message{Session: "first", Key: mk, Text: mk + " are you there?"}, mk); err != nil {
		return r, 0, fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	first = time.Since(began)
	r, err = exchange.Measure(ctx, d, exchange.Loop{Run: run, Sessions: 1, PerSession: t.PerSession, Warmup: t.Warmup, Duration: t.Duration}, m)
	if err != nil {
		return r, 0, err
	}
	if err := d.Stop(bench.StopTime); err != nil {
		return r, 0, fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	journal, err := store.ReadJournal(ctx, h.Data())
	if err != nil {
		return r, 0, err
	}
	r.Added, _ = exchange.AddedOf(journal, r.Markers, m)
	if !b.Keep {
		_ = os.RemoveAll(h.Dir)
	}
	return r, first, nil
}
