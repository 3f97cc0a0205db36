package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/jetclaw/jetclaw/loadtest/bench/child"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/scenario/bridge"
	"github.com/jetclaw/jetclaw/loadtest/scenario/chaos"
	"github.com/jetclaw/jetclaw/loadtest/scenario/cluster"
	"github.com/jetclaw/jetclaw/loadtest/scenario/kill"
	"github.com/jetclaw/jetclaw/loadtest/scenario/mcp"
	"github.com/jetclaw/jetclaw/loadtest/scenario/model"
	"github.com/jetclaw/jetclaw/loadtest/scenario/prober"
	"github.com/jetclaw/jetclaw/loadtest/scenario/replay"
	"github.com/jetclaw/jetclaw/loadtest/scenario/report"
	"github.com/jetclaw/jetclaw/loadtest/scenario/sizes"
	"github.com/jetclaw/jetclaw/loadtest/scenario/soak"
	"github.com/jetclaw/jetclaw/loadtest/scenario/start"
	"github.com/jetclaw/jetclaw/loadtest/scenario/telegram"
	"github.com/jetclaw/jetclaw/loadtest/scenario/turn"
)

const usage = `usage: go run ./loadtest COMMAND [flags]

  turn       latency, rate, processor time and memory of plain turns, beside the floor; or with a history, or dormant sessions
  tool       turns with a tool call, beside the floor; many parked approvals; a race of answers to one
  start      start to ready, idle memory, short commands, memory after many turns
  kill       kill -9 at random instants under load, then judge journal, replies and pushes
  power      the same with power cuts: what was not synced is gone too; or, with --full, a disk that fills up and is freed
  clock      the wall clocks of two processes are stepped by an hour under load: nobody who lives is taken over, nothing is late
  telegram   many chats of a fake Telegram, kill -9, then judge journal and chats; or how fast waiting updates come in
  replay     folding, checking and indexing a big journal, beside the floor; explain and doctor on it
  mcp        calls of MCP servers, beside the floor; servers that nobody uses, and dead ones; mcp list and mcp status
  bridge     MCP clients of jetclaw: calls and events, beside the floor; start, memory, many sessions; catching up after kill -9
  cluster    turns on a NATS cluster, every service a process of its own; fail-over of workers and of NATS servers
  chaos      a NATS cluster and several processes of every service; processes and networks fail, then judge everything
  soak       steady work of all kinds for long; fails when something grows without end
  sizes      what many sessions on the disk cost, beside a bare server
  report     the figures of the design's table, into loadtest/RESULTS.md
  prober     write, wait, read and check for ever, against a running jetclaw; with metrics
  fakemodel  serve a model for OpenAI's and Anthropic's clients that repeats what it is told

COMMAND --help lists its flags. Exit codes: 0 all promises kept, 1 one was broken or the run failed, 2 usage.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	if len(args) == 0 {
		_, _ = io.WriteString(errOut, usage)
		return 2
	}
	p, name, rest := console.Printer{Out: out, Err: errOut}, args[0], args[1:]
	if do := commands()[name]; do != nil {
		return console.Code(p, name, do(ctx, rest, p))
	}
	if ok, err := child.Serve(ctx, name, rest, in, out, errOut); ok {
		return console.Code(p, name, err)
	}
	switch name {
	case "help", "-h", "--help":
		_, _ = io.WriteString(out, usage)
		return 0
	}
	return console.Code(p, name, console.Usage(fmt.Errorf("unknown command %q\n%s", name, usage)))
}

// commands are those for people; the others are for this program's own children.
func commands() map[string]console.Command {
	return map[string]console.Command{
		"turn":      turn.Command,
		"tool":      turn.ToolCommand,
		"start":     start.Command,
		"kill":      kill.Command,
		"power":     kill.PowerCommand,
		"clock":     kill.ClockCommand,
		"telegram":  telegram.Command,
		"replay":    replay.Command,
		"mcp":       mcp.Command,
		"bridge":    bridge.Command,
		"cluster":   cluster.Command,
		"chaos":     chaos.Command,
		"sizes":     sizes.Command,
		"report":    report.Command,
		"prober":    prober.Command,
		"soak":      soak.Command,
		"fakemodel": model.Command,
	}
}
