package crowd

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
)

// role is what a sender does to his sessions.
type role struct {
	name  string
	open  func(sender, n int) string // the command that each session begins with; nil for none
	again int                        // messages after which it is sent again; 0: never
	text  wording                    // what follows the marker
	stop  float64                    // share of the messages that are followed by a stop
	pause time.Duration              // behind each message
}

// wording makes the text of a message; m is its marker.
type wording func(rnd *rand.Rand, m string) string

// Models of the fake provider. The flaky ones refuse whatever they are asked. Most say that it will be long, so that the
// fallback is asked at once and they are on hold from then on; that is why a session changes from one to the next.
const (
	flakyModel    = "flaky-"
	FallbackModel = "second"
	FlakyPlan     = flakyModel + "*/503+300:0.8," + flakyModel + "*/503:0.2"

	// SmallContext makes a summary due after a few turns, and nearly at once in sessions of long messages.
	SmallContext = 2000
	stopShare    = 0.3
	stopMax      = 250 // milliseconds between a message and its stop
)

func babble(rnd *rand.Rand, _ string) string { return strings.Repeat("la ", rnd.IntN(60)) }

func before(order string) wording {
	return func(rnd *rand.Rand, m string) string { return order + babble(rnd, m) }
}

// Tool calls of the mix "tools": one that may be repeated, and one that appends a line, which may not. The line is known by
// the message, and belongs to a file of its sender.
const (
	callNow    = "!tool now {} "
	linesFiles = "lines-*.txt"
	AskedFiles = "asked-*.txt" // that nobody may write to without a person
)

// CallWrite has a line appended.
func CallWrite(m string) string { return callWriteTo(linesFiles, m) }

// CallAsk has one appended when a person allows it.
func CallAsk(m string) string { return callWriteTo(AskedFiles, m) }

func callWriteTo(files, m string) string {
	id := strings.TrimPrefix(m, "mk-") // not the marker itself: that is counted where it stands
	sender := id[:strings.LastIndexByte(id, '-')]
	return fmt.Sprintf(`!tool write_file {"path":%q,"append":true,"content":%q} `, strings.Replace(files, "*", sender, 1), "line "+id+"\n")
}

// CallPeer has a tool of an MCP server called, whose ledger outlives every process. One of its tools may be repeated.
func CallPeer(tool, argument string) func(m string) string {
	return func(m string) string {
		// Not the marker itself: that is counted where it stands.
		return fmt.Sprintf("!tool %s__%s {%q:%q} ", peer.Name, tool, argument, strings.TrimPrefix(m, "mk-"))
	}
}

func calling(calls ...func(m string) string) wording {
	return func(rnd *rand.Rand, m string) string {
		var text strings.Builder
		for _, c := range calls {
			text.WriteString(c(m))
		}
		return text.String() + babble(rnd, m)
	}
}

func now(string) string { return callNow }

func opening(text string) func(int, int) string { return func(int, int) string { return text } }

func chooseFlaky(sender, n int) string {
	return fmt.Sprintf("/model fake/%s%d-%d", flakyModel, sender, n)
}

// Mixed says whether there is a mix of a name.
func Mixed(name string) bool { return roles[name] != nil }

// Mixes of roles.
const (
	MixPlain = "plain"
	MixAll   = "all"
	MixTools = "tools"
	MixMCP   = "mcp"
	MixChaos = "chaos"
)

var roles = map[string][]role{
	MixPlain: {{name: "plain", text: babble}},
	MixAll: {
		{name: "plain", text: babble},
		{name: "steer", open: opening("/queue steer"), text: before("!rounds 3 ")},
		{name: "stop", text: before("!rounds 2 "), stop: stopShare},
		{name: "fallback", open: chooseFlaky, again: 2, text: babble},
		{name: "long", text: func(rnd *rand.Rand, _ string) string { return strings.Repeat("long ago ", 60+rnd.IntN(100)) }},
		{name: "interrupt", open: opening("/queue interrupt"), text: babble, pause: 300 * time.Millisecond},
	},
	MixTools: {
		{name: "clock", text: calling(now)},
		{name: "write", text: calling(CallWrite)},
		{name: "both", text: calling(now, CallWrite, now)},
		{name: "stop", text: calling(CallWrite, now), stop: stopShare},
	},
	MixMCP: {
		{name: "look", text: calling(CallPeer(fakemcp.Look, "text"))},
		{name: "append", text: calling(CallPeer(fakemcp.Append, "marker"))},
		{name: "both", text: calling(CallPeer(fakemcp.Look, "text"), CallPeer(fakemcp.Append, "marker"), now)},
		{name: "stop", text: calling(CallPeer(fakemcp.Append, "marker"), now), stop: stopShare},
	},
	MixChaos: {
		{name: "plain", text: babble},
		{name: "append", text: calling(CallPeer(fakemcp.Append, "marker"))},
		{name: "ask", text: calling(CallAsk)},
		{name: "steer", open: opening("/queue steer"), text: before("!rounds 3 ")},
		{name: "write", text: calling(CallWrite)},
		{name: "stop", text: calling(CallPeer(fakemcp.Append, "marker"), now), stop: stopShare},
		{name: "both", text: calling(CallPeer(fakemcp.Look, "text"), CallWrite, now)},
		{name: "interrupt", open: opening("/queue interrupt"), text: babble, pause: 300 * time.Millisecond},
		{name: "put", text: calling(CallPeer(fakemcp.Put, "marker"))},
		{name: "ask and stop", text: calling(CallAsk, now), stop: stopShare},
	},
}
