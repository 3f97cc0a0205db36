package bridge

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/user/caller"
)

// startCost is what a client waits for when it starts the server, and what the server costs then.
type startCost struct {
	Ready   stat.Spread   `json:"ready"`            // from exec until tools/list is answered
	CPU     time.Duration `json:"cpu_ns"`           // median; of the whole process, until it has ended
	RSS     int64         `json:"rss_bytes"`        // median; at rest
	Version time.Duration `json:"floor_version_ns"` // median; `jetclaw version`, the whole process
}

func (x *bridged) starts(ctx context.Context, r *report) error {
	var ready, cpu, version []time.Duration
	var rss []int64
	for i := range x.f.starts {
		x.P.Note("start %d of %d", i+1, x.f.starts)
		wall, _, err := daemon.Command(ctx, x.Binary, "version")
		if err != nil {
			return err
		}
		version = append(version, wall)
		c, err := x.mcp.OverStdio(ctx)
		if err != nil {
			return err
		}
		took, bytes, err := x.looked(ctx, c)
		if err != nil {
			c.Server.Kill()
			return err
		}
		if err := c.End(); err != nil {
			return err
		}
		ready, rss, cpu = append(ready, took), append(rss, bytes), append(cpu, c.Server.Spent())
	}
	r.Start = &startCost{Ready: stat.SpreadOf(ready), CPU: stat.Median(cpu), RSS: stat.Median(rss), Version: stat.Median(version)}
	return nil
}

// looked asks a server that has just started for its tools, and has its memory when it has come to rest.
func (x *bridged) looked(ctx context.Context, c *caller.Stdio) (ready time.Duration, rss int64, err error) {
	if _, err := c.ListTools(ctx, &mcp.ListToolsParams{}); err != nil {
		return 0, 0, err
	}
	ready = time.Since(c.Server.Started)
	pace.Wait(ctx, x.f.calm)
	rss, err = c.Server.RSS()
	return ready, rss, err
}
