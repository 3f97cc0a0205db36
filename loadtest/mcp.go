package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// mcpFlags are those of the command mcp.
type mcpFlags struct {
	bench   benchFlags
	rounds  int
	timing  timing
	idle    int
	calm    time.Duration
	runs    int
	dead    bool
	strict  bool
	servers int
}

func parseMCP(args []string, p printer) (mcpFlags, error) {
	fs := p.flags("mcp")
	f := mcpFlags{bench: addBenchFlags(fs)}
	fs.IntVar(&f.rounds, "rounds", 3, "of all that is compared, in turn; the report has medians. 0: no calls and no turns are measured")
	fs.DurationVar(&f.timing.warmup, "warmup", time.Second, "of each measurement")
	fs.DurationVar(&f.timing.duration, "duration", 4*time.Second, "of each measurement")
	fs.IntVar(&f.timing.perSession, "per-session", 20, "turns until a session is replaced by a new one")
	fs.IntVar(&f.idle, "idle", 50, "servers that are configured and that nobody uses; 0: this is not measured")
	fs.DurationVar(&f.calm, "calm", calmTime, "until the daemon counts itself as idle: then its memory is read")
	fs.IntVar(&f.runs, "commands", 7, "runs of each short command; 0: none")
	fs.IntVar(&f.servers, "servers", 10, "servers that are configured for the short commands")
	fs.BoolVar(&f.dead, "dead", true, "compare turns beside dead servers with turns beside none")
	fs.BoolVar(&f.strict, "strict", false, "exit 1 when a figure misses its goal, not only when a promise is broken")
	if err := parse(fs, args); err != nil {
		return f, err
	}
	switch {
	case f.rounds < 0 || f.timing.perSession < 1 || f.timing.duration <= 0 || f.timing.warmup < 0:
		return f, usageError{errors.New("per-session and duration are at least 1, rounds and warmup are not negative")}
	case f.idle < 0 || f.idle > 99 || f.calm < 0 || f.runs < 0 || f.servers < 0 || f.servers > 99:
		return f, usageError{errors.New("idle and servers are between 0 and 99, calm and commands are not negative")}
	}
	return f, nil
}

// mcpReport is what --json prints. Durations are in nanoseconds, memory in bytes; fields are only added.
type mcpReport struct {
	Rounds   int           `json:"rounds"`
	Calls    []callPath    `json:"calls,omitempty"`
	Commands []commandCost `json:"commands,omitempty"`
	Idle     *idleServers  `json:"idle,omitempty"`
	Dead     *deadServers  `json:"dead,omitempty"`
	Goals    []goal        `json:"goals"`
}

// mcpCommand measures what MCP servers cost: their calls beside bare ones, those that nobody uses, and those that are dead.
func mcpCommand(ctx context.Context, args []string, p printer) error {
	f, err := parseMCP(args, p)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, f.bench, p)
	if err != nil {
		return err
	}
	defer b.close()
	r, err := b.mcp(ctx, f)
	return b.conclude(f.strict, r, err)
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
