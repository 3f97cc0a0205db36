package kill

import (
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/trial"
	"github.com/jetclaw/jetclaw/loadtest/fault/disk"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/user/crowd"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

func found(v judge.Verdict) string {
	var out []string
	for _, x := range v.Violations {
		out = append(out, string(x.Kind))
	}
	return strings.Join(out, " ")
}

// What people were told may be lost with sync interval, and is counted; a journal with a hole may not be left in any mode.
func TestWhatAPowerCutMayLose(t *testing.T) {
	const s = "main.http.default.a"
	hole := envelope.Event{ID: "m2", Session: s, Cursor: 2, Prev: 1, Body: messagev1.Received{Text: "mk-a-0-2"}}
	gone := judge.Message{Session: s, ID: "m1", Marker: "mk-a-0-1", Status: "completed"}
	for _, c := range []struct {
		sync    string
		journal []envelope.Event
		gone    int
		want    string
	}{
		{"always", nil, 1, "lost"},
		{"interval", nil, 1, ""},
		{"interval", []envelope.Event{hole}, 1, "broken stuck"},
	} {
		k := &run{
			o: options{sync: c.sync, power: &powerOptions{names: disk.Journal}}, crowd: &crowd.Crowd{},
			life: []trial.Life{{Lost: &disk.Loss{Writes: 3}}, {Early: true}, {Lost: &disk.Loss{Writes: 4}}},
		}
		ev := judge.Evidence{Journal: c.journal, Messages: []judge.Message{gone}}
		v := judge.Judge(ev)
		r := k.powered(&v, ev)
		if got := found(v); got != c.want || r.Gone != c.gone || r.Cuts != 2 || r.Lost.Writes != 7 || (r.Told[judge.Lost] > 0) != r.MayLose {
			t.Errorf("%s: %q, want %q; %+v", c.sync, got, c.want, r)
		}
	}
}

// Nobody was killed: whoever was taken over lived.
func TestWhatAStepOfAClockMayNotDo(t *testing.T) {
	for name, c := range map[string]struct {
		counts judge.Counts
		slow   time.Duration
		want   string
	}{
		"nothing":      {judge.Counts{}, time.Second, ""},
		"a take-over":  {judge.Counts{Takeovers: 1}, time.Second, "doubled"},
		"an unknown":   {judge.Counts{Outcomes: map[string]int{"unknown": 1, "ok": 9}}, time.Second, "doubled"},
		"a repeat":     {judge.Counts{Events: map[string]int{"delivery.unknown": 1}}, time.Second, "doubled"},
		"a late reply": {judge.Counts{}, time.Hour, "stuck"},
	} {
		k := &run{crowd: &crowd.Crowd{}}
		k.crowd.Took(c.slow)
		k.crowd.Took(time.Millisecond)
		r := report{Verdict: judge.Verdict{Counts: c.counts}}
		k.clocked(&r)
		if got := found(r.Verdict); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestADiskThatWasFreedHasToServeSoon(t *testing.T) {
	for back, want := range map[time.Duration]string{time.Second: "", backWithin + 1: "stuck"} {
		k := &run{full: []fullTime{{Back: time.Millisecond}, {Back: back}}}
		var r report
		k.filled(&r)
		if got := found(r.Verdict); got != want {
			t.Errorf("%v: %q, want %q", back, got, want)
		}
	}
}
