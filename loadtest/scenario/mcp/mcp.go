// Package mcp measures what a call of an MCP server's tool costs, beside a bare call of the SDK; what servers cost that nobody uses, and dead
// ones; and the commands that look at them.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
)

// mcpFlags are those of the command mcp.
type mcpFlags struct {
	bench.MeasureFlags

	idle    int
	calm    time.Duration
	runs    int
	dead    bool
	servers int
}

func parseMCP(args []string, p console.Printer) (mcpFlags, error) {
	fs := p.Flags("mcp")
	var f mcpFlags
	f.Add(fs, bench.UsualTiming(), ". 0: no calls and no turns are measured")
	fs.IntVar(&f.idle, "idle", 50, "servers that are configured and that nobody uses; 0: this is not measured")
	fs.DurationVar(&f.calm, "calm", bench.CalmTime, "until the daemon counts itself as idle: then its memory is read")
	fs.IntVar(&f.runs, "commands", 7, "runs of each short command; 0: none")
	fs.IntVar(&f.servers, "servers", 10, "servers that are configured for the short commands")
	fs.BoolVar(&f.dead, "dead", true, "compare turns beside dead servers with turns beside none")
	if err := console.Parse(fs, args); err != nil {
		return f, err
	}
	switch {
	case f.Rounds < 0 || f.Timing.PerSession < 1 || f.Timing.Duration <= 0 || f.Timing.Warmup < 0:
		return f, console.Usage(errors.New("per-session and duration are at least 1, rounds and warmup are not negative"))
	case f.idle < 0 || f.idle > 99 || f.calm < 0 || f.runs < 0 || f.servers < 0 || f.servers > 99:
		return f, console.Usage(errors.New("idle and servers are between 0 and 99, calm and commands are not negative"))
	}
	return f, nil
}

// report is what --json prints. Durations are in nanoseconds, memory in bytes; fields are only added.
type report struct {
	Rounds   int             `json:"rounds"`
	Calls    []callPath      `json:"calls,omitempty"`
	Commands []commandCost   `json:"commands,omitempty"`
	Idle     *idleServers    `json:"idle,omitempty"`
	Dead     *deadServers    `json:"dead,omitempty"`
	Goals    []result.Figure `json:"goals"`
}

// Command measures what MCP servers cost: their calls beside bare ones, those that nobody uses, and those that are dead.
func Command(ctx context.Context, args []string, p console.Printer) error {
	f, err := parseMCP(args, p)
	if err != nil {
		return err
	}
	return bench.Measured(ctx, f.Bench, f.Strict, p, func(ctx context.Context, b *bench.Bench) (report, error) { return measure(ctx, b, f) })
}

// measure measures the commands first: their peak of memory counts that of this process, which grows with what it reads.
func measure(ctx context.Context, b *bench.Bench, f mcpFlags) (r report, err error) {
	r.Rounds = f.Rounds
	if f.runs > 0 {
		if r.Commands, err = commands(ctx, b, f.servers, f.runs); err != nil {
			return r, err
		}
	}
	if f.idle > 0 {
		idle, err := measureIdle(ctx, b, f.idle, f.calm)
		if err != nil {
			return r, fmt.Errorf("idle servers: %w", err)
		}
		r.Idle = &idle
	}
	if f.Rounds > 0 {
		if r.Calls, err = calls(ctx, b, f.Timing, f.Rounds); err != nil {
			return r, err
		}
	}
	if f.Rounds > 0 && f.dead {
		dead, err := measureDead(ctx, b, f.Timing, f.Rounds)
		if err != nil {
			return r, err
		}
		r.Dead = &dead
	}
	r.goals()
	return r, nil
}
