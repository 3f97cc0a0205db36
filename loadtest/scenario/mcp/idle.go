package mcp

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
)

// idleServers is a daemon that has many servers configured and uses none, beside one that has none configured.
type idleServers struct {
	Servers int           `json:"servers"`
	Ready   time.Duration `json:"ready_ns"` // from exec to the first answer
	None    time.Duration `json:"ready_none_ns"`
	RSS     int64         `json:"rss_bytes"` // at rest
	RSSNone int64         `json:"rss_none_bytes"`
	// Processes that the daemon has started: the most at a time after its first start, when nobody knows what the servers have; then
	// at rest; and the most at a time after another start.
	First    int `json:"children_first"`
	Children int `json:"children"`
	Again    int `json:"children_again"`
	// After a call of one of them, and the time after which a connection that nobody uses is closed.
	Used     int   `json:"children_used"` // right after the turn
	After    int   `json:"children_after"`
	RSSAfter int64 `json:"rss_after_bytes"`
	RSSAgain int64 `json:"rss_again_bytes"` // after another start, at rest
}

const (
	shortIdle = 2 * time.Second
)

func measureIdle(ctx context.Context, b *bench.Bench, n int, calm time.Duration) (r idleServers, err error) {
	r.Servers = n
	argv, err := peer.Argv()
	if err != nil {
		return r, err
	}
	var servers []daemon.MCPServer
	for i := range n {
		servers = append(servers, daemon.MCPServer{Name: fmt.Sprintf("idle%02d", i), Argv: argv, Idle: shortIdle})
	}
	b.P.Note("a daemon with %d servers that nobody uses, and one with none", n)
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return r, err
	}
	defer m.Close()
	none, err := b.HomeOf("idle-none", daemon.Config{Sync: "interval", ModelURL: m.URL()})
	if err != nil {
		return r, err
	}
	many, err := b.HomeOf("idle", daemon.Config{Sync: "interval", ModelURL: m.URL(), MCP: servers})
	if err != nil {
		return r, err
	}
	for _, part := range []struct {
		home daemon.Home
		look func(*bench.Running) error
	}{
		{none, func(d *bench.Running) (err error) {
			pace.Wait(ctx, calm)
			r.None = d.ReadyAfter
			r.RSSNone, err = d.RSS()
			return err
		}},
		{many, func(d *bench.Running) error { return r.first(ctx, d, calm) }},
		{many, func(d *bench.Running) error { return r.again(ctx, d, calm) }},
	} {
		if err := looked(ctx, b, part.home, part.look); err != nil {
			return r, err
		}
	}
	if !b.Keep {
		_ = os.RemoveAll(none.Dir)
		_ = os.RemoveAll(many.Dir)
	}
	return r, nil
}

// looked starts a daemon on a home, has it looked at, and stops it.
func looked(ctx context.Context, b *bench.Bench, h daemon.Home, look func(*bench.Running) error) error {
	d, err := b.Start(ctx, h)
	if err != nil {
		return err
	}
	defer d.Kill()
	if err := look(d); err != nil {
		return fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	if err := d.Stop(bench.StopTime); err != nil {
		return fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	return nil
}

// children are the processes that the daemon has, and the most that it had, when it has had its time: atLeast, and then until none is
// left or patience has ended.
func children(ctx context.Context, r *bench.Running, atLeast, patience time.Duration) (last, most int, err error) {
	for began := time.Now(); ; {
		all, err := r.Descendants()
		if err != nil {
			return 0, 0, err
		}
		last, most = len(all), max(most, len(all))
		up := time.Since(began)
		if up >= atLeast && (last == 0 || up >= atLeast+patience) || !pace.Wait(ctx, peer.IdlePoll) {
			return last, most, context.Cause(ctx)
		}
	}
}

// first looks at a daemon on a new home: at rest, and after a call.
func (r *idleServers) first(ctx context.Context, d *bench.Running, calm time.Duration) (err error) {
	r.Ready = d.ReadyAfter
	if r.Children, r.First, err = children(ctx, d, max(calm, shortIdle), peer.IdlePatience); err != nil {
		return err
	}
	if r.RSS, err = d.RSS(); err != nil {
		return err
	}
	cl := d.Client(1)
	defer cl.Close()
	m := marker.New("idle", 0, 0)
	text := fmt.Sprintf("%s !tool idle00__%s {\"text\":%q}", m, fakemcp.Echo, peer.Echoed)
	if err := exchange.One(ctx, cl, client.Message{Session: "idle", Key: m, Text: text}, m); err != nil {
		return err
	}
	if r.After, r.Used, err = children(ctx, d, max(calm, shortIdle), peer.IdlePatience); err != nil {
		return err
	}
	r.RSSAfter, err = d.RSS()
	return err
}

// again looks at the daemon of a home that knows its servers.
func (r *idleServers) again(ctx context.Context, d *bench.Running, calm time.Duration) (err error) {
	if _, r.Again, err = children(ctx, d, max(calm, shortIdle), 0); err != nil {
		return err
	}
	r.RSSAgain, err = d.RSS()
	return err
}

// commandCost is what a short command costs: medians.
type commandCost struct {
	Command string        `json:"command"`
	Running bool          `json:"daemon_running"`
	CPU     time.Duration `json:"cpu_ns"`
	Wall    time.Duration `json:"wall_ns"`
	Peak    int64         `json:"peak_rss_bytes"`
}

// commands measures the commands that only look, on a home with many servers: beside a daemon that runs, and without one.
func commands(ctx context.Context, b *bench.Bench, servers, times int) (out []commandCost, err error) {
	argv, err := peer.Argv()
	if err != nil {
		return nil, err
	}
	c := daemon.Config{Sync: "interval", ModelURL: "http://127.0.0.1:1/v1"}
	for i := range servers {
		c.MCP = append(c.MCP, daemon.MCPServer{Name: fmt.Sprintf("idle%02d", i), Argv: argv})
	}
	h, err := b.HomeOf("commands", c)
	if err != nil {
		return nil, err
	}
	b.P.Note("mcp list and mcp status, %d servers", servers)
	for _, alive := range []bool{true, false} {
		var d *bench.Running
		if alive {
			if d, err = b.Start(ctx, h); err != nil {
				return nil, err
			}
		}
		for _, verb := range []string{"list", "status"} {
			cost, err := cost(ctx, b, h, times, "mcp", verb)
			if err != nil {
				if d != nil {
					d.Kill()
				}
				return nil, err
			}
			cost.Running = alive
			out = append(out, cost)
		}
		if d != nil {
			if err := d.Stop(bench.StopTime); err != nil {
				return nil, fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
			}
		}
	}
	return out, nil
}

func cost(ctx context.Context, b *bench.Bench, h daemon.Home, times int, args ...string) (commandCost, error) {
	c := commandCost{Command: args[0] + " " + args[1]}
	var cpu, wall []time.Duration
	var peak []int64
	for range times {
		o, err := h.Run(ctx, b.Binary, args...)
		if err == nil && o.Code != 0 {
			err = fmt.Errorf("jetclaw %s: exit code %d\n%s", c.Command, o.Code, o.Stderr)
		}
		if err != nil {
			return c, err
		}
		cpu, wall, peak = append(cpu, o.CPU), append(wall, o.Took), append(peak, o.Peak)
	}
	c.CPU, c.Wall, c.Peak = stat.Median(cpu), stat.Median(wall), stat.Median(peak)
	return c, nil
}
