package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/mcpv1"
	"github.com/jetclaw/jetclaw/services/mcp/server"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

// told is an event in a word or two.
func told(e mcpv1.Event, now time.Time) string {
	switch e := e.(type) {
	case mcpv1.Failed:
		return fmt.Sprintf("failed %d", e.Failures)
	case mcpv1.Paused:
		return fmt.Sprintf("paused %d for %s", e.Pauses, e.Until.Sub(now))
	case mcpv1.Resumed:
		return fmt.Sprintf("resumed by %s, %d count", e.By, e.Pauses)
	case nil:
		return "nothing"
	}
	return "?"
}

func TestStory(t *testing.T) {
	var s server.State
	now := epoch
	for i, step := range []struct {
		after time.Duration
		in    server.Input
		want  string
	}{
		{0, server.Worked{}, "nothing"},
		{0, server.Broke{Reason: "a"}, "failed 1"},
		{0, server.Broke{Reason: "b"}, "failed 2"},
		{0, server.Worked{}, "resumed by call, 0 count"},
		{0, server.Broke{}, "failed 1"},
		{0, server.Broke{}, "failed 2"},
		{0, server.Tick{}, "nothing"},
		{0, server.Broke{}, "paused 1 for 1m0s"},
		{time.Second, server.Broke{}, "nothing"},
		{time.Second, server.Worked{}, "nothing"}, // a call that was under way
		{58*time.Second - 1, server.Tick{}, "nothing"},
		{1, server.Tick{}, "resumed by time, 1 count"},
		{0, server.Tick{}, "nothing"},
		{0, server.Broke{}, "paused 2 for 2m0s"},
		{2 * time.Minute, server.Broke{}, "paused 3 for 4m0s"}, // before anybody looked at the clock
		{4 * time.Minute, server.Tick{}, "resumed by time, 3 count"},
		{0, server.Broke{}, "paused 4 for 8m0s"},
		{8 * time.Minute, server.Broke{}, "paused 5 for 10m0s"},
		{10 * time.Minute, server.Broke{}, "paused 6 for 10m0s"},
		{time.Second, server.Asked{By: "probe"}, "resumed by probe, 0 count"},
		{0, server.Asked{By: "reload"}, "nothing"},
		{0, server.Broke{}, "failed 1"},
	} {
		now = now.Add(step.after)
		e := s.Next(step.in, now)
		if got := told(e, now); got != step.want {
			t.Fatalf("step %d, %T: got %s, want %s", i, step.in, got, step.want)
		}
		if e != nil {
			s = s.Apply(e, now)
		}
	}
}

func TestReasonsAreBounded(t *testing.T) {
	e, ok := server.State{}.Next(server.Broke{Reason: strings.Repeat("ä", 1000)}, epoch).(mcpv1.Failed)
	if !ok || len(e.Reason) > 500 || strings.Contains(e.Reason, "�") || strings.Trim(e.Reason, "ä") != "" {
		t.Errorf("got %d bytes: %q", len(e.Reason), e.Reason)
	}
}

// TestHistories: whatever comes in whatever order, the last event of each verb tells the same as all of them; a pause is never longer
// than it may be; who is paused is not paused again; and enough failures always lead to a pause.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s server.State
		now := epoch
		type entry struct {
			e  mcpv1.Event
			at time.Time
		}
		var all []entry
		tell := func(e mcpv1.Event) {
			s = s.Apply(e, now)
			all = append(all, entry{e, now})
		}
		row := 0 // failures since the last success, while it was not paused
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(2*time.Minute)).Draw(t, "after")))
			paused := s.Paused(now)
			in := rapid.SampledFrom([]server.Input{
				server.Worked{}, server.Broke{Reason: "x"}, server.Broke{Reason: "y"}, server.Tick{}, server.Asked{By: "probe"}, nil,
			}).Draw(t, "input")
			if in == nil {
				tell(rapid.SampledFrom([]mcpv1.Event{mcpv1.Connected{Name: "n"}, mcpv1.Closed{}, mcpv1.Listed{Tools: 3}}).Draw(t, "event"))
				continue
			}
			e := s.Next(in, now)
			if _, broke := in.(server.Broke); broke && !paused {
				if row++; e == nil {
					t.Fatal("a failure is not told")
				}
			} else if _, ok := e.(mcpv1.Resumed); ok && e.(mcpv1.Resumed).Pauses == 0 {
				row = 0
			}
			p, pauses := e.(mcpv1.Paused)
			if pauses && (paused || p.Until.Sub(now) > 10*time.Minute || p.Until.Sub(now) < time.Minute) {
				t.Fatalf("paused %v: again for %s", paused, p.Until.Sub(now))
			}
			if row >= 3 && !pauses {
				if _, broke := in.(server.Broke); broke && !paused {
					t.Fatalf("%d failures in a row do not pause it", row)
				}
			}
			if e != nil {
				tell(e)
			}
		}
		last := map[string]int{}
		for i, en := range all {
			last[en.e.Verb()] = i
		}
		var few server.State
		for i, en := range all {
			if slices.Contains(values(last), i) {
				few = few.Apply(en.e, en.at)
			}
		}
		few.Reason, s.Reason = "", "" // of an earlier failure, when a pause was told by another process
		if few.Failures != s.Failures || few.Pauses != s.Pauses || !few.Until.Equal(s.Until) || few.Listed != s.Listed || few.Peer != s.Peer {
			t.Fatalf("the last of each verb: %+v\nall: %+v", few, s)
		}
	})
}

func values(m map[string]int) []int {
	var all []int
	for _, v := range m {
		all = append(all, v)
	}
	return all
}
