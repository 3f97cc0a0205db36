package mcp

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

func TestMCPIsReportedBesideItsFloors(t *testing.T) {
	code, out, _ := standin.Run(t, Command, "--rounds", "1", "--warmup", "50ms", "--duration", "200ms", "--idle", "2", "--calm", "10ms", "--commands", "1", "--json", "-")
	var r report
	if err := standin.Decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if code != 0 || len(r.Calls) != 2 || len(r.Commands) != 4 || r.Idle == nil || r.Dead == nil || len(r.Goals) != 2*2+2*4+3+2 {
		t.Fatalf("exit %d, %s", code, out)
	}
	for _, c := range r.Calls {
		if c.Bare.N == 0 || c.Path.N == 0 || c.Path.P50 == 0 || c.Ratio == 0 || c.Turn.P50 == 0 || c.Protocol == "" {
			t.Errorf("%+v", c)
		}
	}
	for _, c := range r.Commands {
		if c.Wall == 0 || c.Peak == 0 {
			t.Errorf("%+v", c)
		}
	}
	if r.Idle.RSS == 0 || r.Idle.Ready == 0 || r.Dead.One.Turns == 0 || r.Dead.Other.Turns == 0 || r.Dead.First == 0 {
		t.Errorf("%+v, %+v", r.Idle, r.Dead)
	}
}

func TestMCPServersThatCostAProcessAreFound(t *testing.T) {
	for figure, spoil := range map[string]func(*report){
		"":                              func(*report) {},
		"processes of 3":                func(r *report) { r.Idle.Children = 1 },
		"the same, after a call and":    func(r *report) { r.Idle.After = 1 },
		"the same, after another start": func(r *report) { r.Idle.Again = 1 },
		"a call through gate":           func(r *report) { r.Calls[0].Path.P50 = 2 * time.Millisecond },
		"the same, to a bare":           func(r *report) { r.Calls[0].Ratio = 3.1 },
		"mcp list, no daemon: CPU":      func(r *report) { r.Commands[0].CPU = time.Second },
		"mcp list, no daemon: memory":   func(r *report) { r.Commands[0].Peak = 61e6 },
		"added latency p50 of a plain":  func(r *report) { r.Dead.AddedP50 = 1.2 },
		"the whole turn, p50":           func(r *report) { r.Dead.TurnP50 = 1.2 },
	} {
		r := report{
			Calls:    []callPath{{Transport: peer.OverStdio, Path: stat.Spread{P50: time.Microsecond}}},
			Commands: []commandCost{{Command: "mcp list"}}, Idle: &idleServers{Servers: 3}, Dead: &deadServers{},
		}
		spoil(&r)
		r.goals()
		missed := standin.MissedOf(r.Goals)
		if figure == "" && len(missed) != 0 || figure != "" && (len(missed) != 1 || !strings.HasPrefix(missed[0], figure)) {
			t.Errorf("%q: missed %q", figure, missed)
		}
		var said strings.Builder
		r.Print(console.Printer{Out: &said, Err: io.Discard})
		if !strings.Contains(said.String(), "path/bare") || !strings.Contains(said.String(), "3 servers that nobody uses") {
			t.Error(said.String())
		}
	}
}

func TestServersAreConfigured(t *testing.T) {
	h, err := daemon.NewHome(t.TempDir(), daemon.Config{MCP: []daemon.MCPServer{
		{Name: "a", Argv: []string{"/bin/x", "--y", `"`}, Idle: time.Second}, {Name: "b", URL: "http://127.0.0.1:1/mcp"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(h.Dir + "/jetclaw.yaml")
	const want = "\nmcp:\n  servers:\n" +
		`    a: {"approval":"approve","args":["--y","\""],"command":"/bin/x","idleTimeoutMs":1000}` + "\n" +
		`    b: {"approval":"approve","url":"http://127.0.0.1:1/mcp"}` + "\n"
	if err != nil || !strings.Contains(string(b), want) {
		t.Errorf("%v\n%s", err, b)
	}
}

func TestMCPUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--rounds", "-1"},
		{"--duration", "0"},
		{"--idle", "100"},
		{"--servers", "-1"},
		{"--commands", "-1"},
		{"--calm", "-1s"},
		{"extra"},
	} {
		if code := standin.Misused(t, Command, args...); code != 2 {
			t.Errorf("%q: exit %d, want 2", args, code)
		}
	}
}
