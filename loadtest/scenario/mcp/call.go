package mcp

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// callPath is one way of a call, by the bus's own clock, beside a bare call of the same server in the same run.
type callPath struct {
	Transport string        `json:"transport"`
	Path      stat.Spread   `json:"path"`  // turn.stepped stored → call.completed stored
	Gate      stat.Spread   `json:"gate"`  // of it, until call.dispatched is stored
	Claim     stat.Spread   `json:"claim"` // from there until call.started is
	Run       stat.Spread   `json:"run"`   // from there until call.completed is
	Bare      stat.Spread   `json:"floor_sdk"`
	Ratio     float64       `json:"path_floor_p50"`
	RatioP99  float64       `json:"path_floor_p99"`
	Turn      stat.Spread   `json:"turn"`   // the whole exchange at the client
	CPU       time.Duration `json:"cpu_ns"` // of the daemon, a turn
	Protocol  string        `json:"protocol"`

	rounds     []callPath
	path, bare stat.Histogram
}

func (c callPath) pathHist() stat.Histogram { return c.path }
func (c callPath) bareHist() stat.Histogram { return c.bare }

func echoText() string {
	return fmt.Sprintf("!tool %s__%s {\"text\":%q}", peer.Name, fakemcp.Echo, peer.Echoed)
}

// calls measures the way of a call over each transport. What comes first changes from round to round.
func calls(ctx context.Context, b *bench.Bench, t bench.Timing, rounds int) ([]callPath, error) {
	transports := []string{peer.OverStdio, peer.OverHTTP}
	all := map[string][]callPath{}
	for round := range rounds {
		for i := range transports {
			transport := transports[(i+round)%len(transports)]
			b.P.Note("round %d of %d: calls over %s", round+1, rounds, transport)
			c, err := call(ctx, b, transport, t, round)
			if err != nil {
				return nil, fmt.Errorf("calls over %s: %w", transport, err)
			}
			all[transport] = append(all[transport], c)
		}
	}
	var out []callPath
	for _, transport := range transports {
		out = append(out, medianPath(all[transport]))
	}
	return out, nil
}

// call is one round of a transport: the floor, and jetclaw right after or before it.
func call(ctx context.Context, b *bench.Bench, transport string, t bench.Timing, round int) (c callPath, err error) {
	p, err := peer.Start(ctx, transport)
	if err != nil {
		return c, err
	}
	defer func() {
		if cerr := p.Close(); err == nil {
			err = cerr
		}
	}()
	c.Transport = transport
	both := []func() error{
		func() error {
			took, version, err := p.Bare(ctx, t)
			c.Bare, c.bare, c.Protocol = stat.SpreadOf(took), stat.HistogramOf(took), version
			return err
		},
		func() error { return through(ctx, b, p, t, round, &c) },
	}
	if round%2 == 1 {
		slices.Reverse(both)
	}
	for _, measure := range both {
		if err := measure(); err != nil {
			return c, err
		}
	}
	c.Ratio, c.RatioP99 = stat.Ratio(c.Path.P50, c.Bare.P50), stat.Ratio(c.Path.P99, c.Bare.P99)
	return c, nil
}

// through has a model ask for calls of the server, and takes their times from the journal.
func through(ctx context.Context, b *bench.Bench, p peer.Peer, t bench.Timing, round int, c *callPath) error {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	run := fmt.Sprintf("%s%d", p.Transport, round)
	h, err := b.HomeOf("mcp-"+run, daemon.Config{Sync: "interval", ModelURL: m.URL(), MCP: []daemon.MCPServer{p.Configured()}})
	if err != nil {
		return err
	}
	d, err := b.Start(ctx, h)
	if err != nil {
		return err
	}
	defer d.Kill()
	if err := peer.Offered(ctx, b, h); err != nil {
		return fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	r, err := exchange.Measure(ctx, d, exchange.Loop{
		Run: run, Text: echoText(), Sessions: 1, PerSession: t.PerSession, Warmup: t.Warmup, Duration: t.Duration,
	}, m)
	if err != nil {
		return err
	}
	if err := d.Stop(bench.StopTime); err != nil {
		return fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	journal, err := store.ReadJournal(ctx, h.Data())
	if err == nil {
		err = exchange.CallsFailed(journal)
	}
	if err != nil {
		return err
	}
	c.Turn, c.CPU = r.Turn, r.CPU
	if err := c.read(journal, r.Markers); err != nil {
		return err
	}
	if !b.Keep {
		_ = os.RemoveAll(h.Dir)
	}
	return nil
}

// read takes the times of the calls of measured turns.
func (c *callPath) read(journal []store.Record, markers []string) error {
	measured := map[string]bool{}
	for _, m := range markers {
		measured[m] = true
	}
	type times struct{ stepped, dispatched, started time.Time }
	messages, turns := map[string]bool{}, map[string]*times{}
	var path, gate, claim, run []time.Duration
	for _, r := range journal {
		switch b := r.Body.(type) {
		case messagev1.Received:
			messages[r.ID] = measured[marker.First(b.Text)]
		case turnv1.Started:
			if slices.ContainsFunc(b.Messages, func(id string) bool { return messages[id] }) {
				turns[b.Turn] = &times{}
			}
		case turnv1.Stepped:
			if t := turns[b.Turn]; t != nil {
				t.stepped = r.Stored
			}
		case callv1.Dispatched:
			if t := turns[b.Turn]; t != nil {
				t.dispatched = r.Stored
			}
		case callv1.Started:
			if t := turns[b.Turn]; t != nil {
				t.started = r.Stored
			}
		case callv1.Completed:
			if t := turns[b.Turn]; t != nil {
				path = append(path, r.Stored.Sub(t.stepped))
				gate = append(gate, t.dispatched.Sub(t.stepped))
				claim = append(claim, t.started.Sub(t.dispatched))
				run = append(run, r.Stored.Sub(t.started))
			}
		}
	}
	if len(path) == 0 || len(path) < len(markers) {
		return fmt.Errorf("the journal has %d calls of %d measured turns", len(path), len(markers))
	}
	c.path = stat.HistogramOf(path)
	c.Path, c.Gate, c.Claim, c.Run = stat.SpreadOf(path), stat.SpreadOf(gate), stat.SpreadOf(claim), stat.SpreadOf(run)
	return nil
}

// medianPath takes each figure's median over several rounds; the ratios are those of the rounds' own.
func medianPath(rounds []callPath) callPath {
	spread := func(f func(callPath) stat.Spread) stat.Spread { return stat.MedianSpread(stat.Each(rounds, f)) }
	number := func(f func(callPath) float64) float64 { return stat.Median(stat.Each(rounds, f)) }
	return callPath{
		Transport: rounds[0].Transport, Protocol: rounds[0].Protocol, rounds: rounds,
		Path:     spread(func(c callPath) stat.Spread { return c.Path }),
		Gate:     spread(func(c callPath) stat.Spread { return c.Gate }),
		Claim:    spread(func(c callPath) stat.Spread { return c.Claim }),
		Run:      spread(func(c callPath) stat.Spread { return c.Run }),
		Bare:     spread(func(c callPath) stat.Spread { return c.Bare }),
		Turn:     spread(func(c callPath) stat.Spread { return c.Turn }),
		Ratio:    number(func(c callPath) float64 { return c.Ratio }),
		RatioP99: number(func(c callPath) float64 { return c.RatioP99 }),
		CPU:      stat.Median(stat.Each(rounds, func(c callPath) time.Duration { return c.CPU })),
	}
}
