package bridge

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/user/caller"
)

func bridgeArgs(more ...string) []string {
	return append([]string{
		"--sessions", "5", "--messages", "1", "--rounds", "1", "--warmup", "10ms", "--duration", "50ms", "--waits", "2", "--waiters", "4",
		"--starts", "1", "--crowd", "5", "--events", "20", "--unread", "3", "--catch-up", "20", "--calm", "10ms", "--json", "-",
	}, more...)
}

func TestTheBridgeIsReportedBesideItsFloors(t *testing.T) {
	code, out, _ := standin.Run(t, Command, bridgeArgs()...)
	var r report
	if err := standin.Decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if code != 0 || len(r.Calls) != 6 || len(r.Waits) != 4 || r.Start == nil || r.Crowd == nil || len(r.Mute) != 2 || r.CatchUp == nil ||
		len(r.Goals) != 4+2+1+1+2+2+1 {
		t.Fatalf("exit %d, %s", code, out)
	}
	for _, c := range r.Calls {
		if c.Took.N == 0 || c.Floor.P50 == 0 || c.Ratio == 0 || c.Bytes == 0 {
			t.Errorf("%+v", c)
		}
	}
	for _, w := range r.Waits {
		if w.Took.P50 <= 0 || w.Last.P50 < w.Took.P50 || w.Floor.P50 == 0 || w.Echo.P50 == 0 {
			t.Errorf("%+v", w)
		}
	}
	for _, m := range r.Mute {
		if m.Events < 20 || m.RSS == 0 || m.Peak < m.After {
			t.Errorf("%+v", m)
		}
	}
	if c := r.Crowd; c.FilesWith < c.Files+5 || c.With == 0 || c.AfterAgain == 0 {
		t.Errorf("%+v", c)
	}
	if c := r.CatchUp; c.Told != 20 || c.Polls == 0 || c.Ready == 0 || r.Start.Ready.P50 == 0 || r.RSS == 0 {
		t.Errorf("%+v, %+v", c, r.Start)
	}
}

func TestABridgeThatForgetsOrRepeatsIsFound(t *testing.T) {
	for bug, want := range map[string]string{"skip": "not told: ", "again": "told 2 times: "} {
		t.Setenv("STANDIN_BUG", bug)
		code, _, notes := standin.Run(t, Command, bridgeArgs("--rounds", "0", "--starts", "0", "--crowd", "0", "--events", "0")...)
		if code != 1 || !strings.Contains(notes, want) || !strings.Contains(notes, "mk-c-3-3") {
			t.Errorf("%s: exit %d", bug, code)
		}
	}
}

func TestWhatAClientIsToldIsJudged(t *testing.T) {
	sent := []said{{"mk-c-1-1", 7}, {"mk-c-0-0", 4}, {"mk-c-2-2", 9}}
	event := func(cursor uint64, text string) caller.Happened { return caller.Happened{Cursor: cursor, Text: text} }
	a, b, c := event(4, "mk-c-0-0 x"), event(7, "mk-c-1-1 x"), event(9, "mk-c-2-2 x")
	for want, told := range map[string][]caller.Happened{
		"":                  {a, b, c},
		"not told: 7":       {a, c},
		"told 2 times: 4":   {a, a, b, c},
		"told out of order": {b, a, c},
		"told of a message": {a, event(5, "hello"), b, c},
		"told something":    {a, event(7, "mk-c-9-9"), c},
	} {
		got := judgeTold(slices.Clone(sent), told)
		if want == "" && len(got) != 0 || want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], want)) {
			t.Errorf("%q: %q", want, got)
		}
	}
}

func TestWhatABridgeCostsIsJudged(t *testing.T) {
	for figure, spoil := range map[string]func(*report){
		"":                                 func(*report) {},
		"1 client waits":                   func(r *report) { r.Waits[0].AddedCall = int64(3 * time.Millisecond) },
		"9 clients wait over http":         func(r *report) { r.Waits[1].Added = int64(3 * time.Millisecond) },
		"start":                            func(r *report) { r.Start.Ready.P50 = time.Second },
		"memory after it":                  func(r *report) { r.Start.RSS = 41e6 },
		"memory after the load":            func(r *report) { r.RSS = 41e6 },
		"open files":                       func(r *report) { r.Crowd.FilesAfter = 12 },
		"the end of the server":            func(r *report) { r.Mute[0].Killed = true },
		"memory with a client over stdio":  func(r *report) { r.Mute[0].Peak = 151e6 },
		"3 messages after kill -9":         func(r *report) { r.CatchUp.Told = 2 },
		"3 messages after kill -9 of the ": func(r *report) { r.CatchUp.Wrong = []string{"not told"} },
	} {
		r := report{
			Calls: []callCost{{Call: caller.ListTool}}, RSS: 1,
			Waits: []waitCost{{Transport: peer.OverStdio, Waiters: 1}, {Transport: peer.OverHTTP, Waiters: 9, Own: true, Took: stat.Spread{P50: time.Hour}}},
			Start: &startCost{}, Crowd: &crowded{Sessions: 5, Files: 11}, Mute: []muteCost{{Transport: peer.OverStdio}},
			CatchUp: &caughtUp{Messages: 3, Told: 3},
		}
		spoil(&r)
		r.goals()
		missed := standin.MissedOf(r.Goals)
		if figure == "" && len(missed) != 0 || figure != "" && (len(missed) != 1 || !strings.HasPrefix(missed[0], figure)) {
			t.Errorf("%q: missed %q", figure, missed)
		}
		var said strings.Builder
		r.Print(console.Printer{Out: &said, Err: io.Discard})
		for _, want := range []string{"took/bare", "9 clients wait over http", "5 sessions over HTTP", "reads nothing", "catching up"} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("%q is not in %s", want, said.String())
			}
		}
	}
}

func TestBridgeUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--sessions", "0"},
		{"--rounds", "-1"},
		{"--duration", "0"},
		{"--waiters", "0"},
		{"--waiters", "251"},
		{"--crowd", "1001"},
		{"--unread", "251"},
		{"--calm", "-1s"},
		{"extra"},
	} {
		if code := standin.Misused(t, Command, args...); code != 2 {
			t.Errorf("%q: exit %d, want 2", args, code)
		}
	}
}
