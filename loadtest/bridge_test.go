package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/stat"
)

func bridgeArgs(more ...string) []string {
	return append([]string{
		"--sessions", "5", "--messages", "1", "--rounds", "1", "--warmup", "10ms", "--duration", "50ms", "--waits", "2", "--waiters", "4",
		"--starts", "1", "--crowd", "5", "--events", "20", "--unread", "3", "--catch-up", "20", "--calm", "10ms", "--json", "-",
	}, more...)
}

func TestTheBridgeIsReportedBesideItsFloors(t *testing.T) {
	code, out, _ := scenario(t, bridgeCommand, bridgeArgs()...)
	var r bridgeReport
	if err := decode(out, &r); err != nil {
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
		code, _, notes := scenario(t, bridgeCommand, bridgeArgs("--rounds", "0", "--starts", "0", "--crowd", "0", "--events", "0")...)
		if code != 1 || !strings.Contains(notes, want) || !strings.Contains(notes, "mk-c-3-3") {
			t.Errorf("%s: exit %d", bug, code)
		}
	}
}

func TestWhatAClientIsToldIsJudged(t *testing.T) {
	sent := []said{{"mk-c-1-1", 7}, {"mk-c-0-0", 4}, {"mk-c-2-2", 9}}
	event := func(cursor uint64, text string) happened { return happened{Cursor: cursor, Text: text} }
	a, b, c := event(4, "mk-c-0-0 x"), event(7, "mk-c-1-1 x"), event(9, "mk-c-2-2 x")
	for want, told := range map[string][]happened{
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
	for figure, spoil := range map[string]func(*bridgeReport){
		"":                                 func(*bridgeReport) {},
		"1 client waits":                   func(r *bridgeReport) { r.Waits[0].AddedCall = int64(3 * time.Millisecond) },
		"9 clients wait over http":         func(r *bridgeReport) { r.Waits[1].Added = int64(3 * time.Millisecond) },
		"start":                            func(r *bridgeReport) { r.Start.Ready.P50 = time.Second },
		"memory after it":                  func(r *bridgeReport) { r.Start.RSS = 41e6 },
		"memory after the load":            func(r *bridgeReport) { r.RSS = 41e6 },
		"open files":                       func(r *bridgeReport) { r.Crowd.FilesAfter = 12 },
		"the end of the server":            func(r *bridgeReport) { r.Mute[0].Killed = true },
		"memory with a client over stdio":  func(r *bridgeReport) { r.Mute[0].Peak = 151e6 },
		"3 messages after kill -9":         func(r *bridgeReport) { r.CatchUp.Told = 2 },
		"3 messages after kill -9 of the ": func(r *bridgeReport) { r.CatchUp.Wrong = []string{"not told"} },
	} {
		r := bridgeReport{
			Calls: []bridgeCall{{Call: listTool}}, RSS: 1,
			Waits: []bridgeWait{{Transport: overStdio, Waiters: 1}, {Transport: overHTTP, Waiters: 9, Own: true, Took: stat.Spread{P50: time.Hour}}},
			Start: &bridgeStart{}, Crowd: &bridgeCrowd{Sessions: 5, Files: 11}, Mute: []bridgeMute{{Transport: overStdio}},
			CatchUp: &bridgeCatchUp{Messages: 3, Told: 3},
		}
		spoil(&r)
		r.goals()
		missed := missedOf(r.Goals)
		if figure == "" && len(missed) != 0 || figure != "" && (len(missed) != 1 || !strings.HasPrefix(missed[0], figure)) {
			t.Errorf("%q: missed %q", figure, missed)
		}
		var said strings.Builder
		r.print(printer{&said, io.Discard})
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
		if code := misused(t, bridgeCommand, args...); code != 2 {
			t.Errorf("%q: exit %d, want 2", args, code)
		}
	}
}
