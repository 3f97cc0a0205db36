package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/result"
)

// mcpFlags are those of the command mcp.
type mcpFlags struct {
	measureFlags

	idle    int
	calm    time.Duration
	runs    int
	dead    bool
	servers int
}

func parseMCP(args []string, p printer) (mcpFlags, error) {
	fs := p.flags("mcp")
	var f mcpFlags
	f.add(fs, usualTiming(), ". 0: no calls and no turns are measured")
	fs.IntVar(&f.idle, "idle", 50, "servers that are configured and that nobody uses; 0: this is not measured")
	fs.DurationVar(&f.calm, "calm", calmTime, "until the daemon counts itself as idle: then its memory is read")
	fs.IntVar(&f.runs, "commands", 7, "runs of each short command; 0: none")
	fs.IntVar(&f.servers, "servers", 10, "servers that are configured for the short commands")
	fs.BoolVar(&f.dead, "dead", true, "compare turns beside dead servers with turns beside none")
	if err := parse(fs, args); err != nil {
		return f, err
	}
	switch {
	case f.rounds < 0 || f.timing.perSession < 1 || f.timing.duration <= 0 || f.timing.warmup < 0:
		return f, asUsage(errors.New("per-session and duration are at least 1, rounds and warmup are not negative"))
	case f.idle < 0 || f.idle > 99 || f.calm < 0 || f.runs < 0 || f.servers < 0 || f.servers > 99:
		return f, asUsage(errors.New("idle and servers are between 0 and 99, calm and commands are not negative"))
	}
	return f, nil
}

// mcpReport is what --json prints. Durations are in nanoseconds, memory in bytes; fields are only added.
type mcpReport struct {
	Rounds   int             `json:"rounds"`
	Calls    []callPath      `json:"calls,omitempty"`
	Commands []commandCost   `json:"commands,omitempty"`
	Idle     *idleServers    `json:"idle,omitempty"`
	Dead     *deadServers    `json:"dead,omitempty"`
	Goals    []result.Figure `json:"goals"`
}

// mcpCommand measures what MCP servers cost: their calls beside bare ones, those that nobody uses, and those that are dead.
func mcpCommand(ctx context.Context, args []string, p printer) error {
	f, err := parseMCP(args, p)
	if err != nil {
		return err
	}
	return measured(ctx, f.bench, f.strict, p, func(ctx context.Context, b *bench) (mcpReport, error) { return b.mcp(ctx, f) })
}

// mcp measures the commands first: their peak of memory counts that of this process, which grows with what it reads.
func (b *bench) mcp(ctx context.Context, f mcpFlags) (r mcpReport, err error) {
	r.Rounds = f.rounds
	if f.runs > 0 {
		if r.Commands, err = b.commands(ctx, f.servers, f.runs); err != nil {
			return r, err
		}
	}
	if f.idle > 0 {
		idle, err := b.idleServers(ctx, f.idle, f.calm)
		if err != nil {
			return r, fmt.Errorf("idle servers: %w", err)
		}
		r.Idle = &idle
	}
	if f.rounds > 0 {
		if r.Calls, err = b.calls(ctx, f.timing, f.rounds); err != nil {
			return r, err
		}
	}
	if f.rounds > 0 && f.dead {
		dead, err := b.deadServers(ctx, f.timing, f.rounds)
		if err != nil {
			return r, err
		}
		r.Dead = &dead
	}
	r.goals()
	return r, nil
}
