// Command loadtest measures jetclaw from outside and tries to break it.
//
//	go run ./loadtest turn       what a plain turn costs, beside the floor of the same machine; with --history in sessions
//	                             that have a past, with --dormant beside many that sleep
//	go run ./loadtest tool       what a turn with a tool call costs, beside the floor; what thousands of approvals cost that wait
//	                             for a person; whether one of a thousand simultaneous answers to one of them wins
//	go run ./loadtest start      start, idle memory, short commands, memory after many turns
//	go run ./loadtest kill       SIGKILL at random instants while clients keep sending: what is lost, doubled, stuck? With
//	                             --mix all also during stops, steering, interruptions, fallbacks and compactions; with
//	                             --mix tools during tool calls
//	go run ./loadtest power      the same with the power of the disk cut: what was not synced is gone (Linux, root, /dev/fuse)
//	go run ./loadtest clock      the clocks of two processes are stepped an hour forth and back under load
//	go run ./loadtest telegram   many chats of a fake Telegram that fails, and SIGKILLs: is each message answered once, in order, whole,
//	                             within the limits? With --rate how fast waiting updates come in, beside the floor
//	go run ./loadtest replay     how fast a big journal is folded, checked and indexed again, beside the floor; how long the
//	                             tools of an operator take on it
//	go run ./loadtest mcp        what a call of an MCP server's tool costs, beside a bare call of the protocol's SDK; what servers cost that
//	                             nobody uses, and dead ones; what looking at them costs
//	go run ./loadtest bridge     what MCP clients of jetclaw get (jetclaw mcp serve): calls and waiting for events, beside a bare server of the
//	                             SDK; its start and memory, with many sessions and with clients that read nothing; whether a client
//	                             is told everything, once and in order, after the daemon was killed
//	go run ./loadtest cluster    three NATS servers and every service a process of its own: turns a second by workers and copies, fail-over
//	go run ./loadtest chaos      three NATS servers, two processes of every service, and whatever can go wrong with processes and networks:
//	                             is anything lost, doubled, out of order, executed twice or stuck?
//	go run ./loadtest soak       steady work of all kinds for long: does memory, disk, or anything else grow without end? By the slope
//	                             after the warm-up
//	go run ./loadtest sizes      what sessions cost that lie on the disk: memory, disk, the next start; beside a bare server
//	go run ./loadtest report     all figures of the design's table and a paper of what sessions cost, into loadtest/RESULTS.md
//	go run ./loadtest prober     writes to a running jetclaw for ever, waits, reads and checks; serves what it finds as metrics
//	go run ./loadtest fakemodel  a server for OpenAI's and Anthropic's clients that repeats what it is told
//
// It builds cmd/jetclaw, runs it on temporary homes with a fake model, talks to it over HTTP and its bus on loopback only, and
// judges by what it sees there and by the journal that a stopped daemon leaves. It imports no service.
// Every scenario ends by itself; it exits 1 when a promise was broken, 2 when it was called wrongly.
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
