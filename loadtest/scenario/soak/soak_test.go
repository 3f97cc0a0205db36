package soak

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/recheck"
	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
)

// soakOf has readings of a run of an hour, a turn a second, of which of gives the memory.
func soakOf(of func(turns float64) float64) (r report) {
	r = report{For: time.Hour, Warmup: 0.25, Replay: recheck.Replayed{OK: true, Events: 7, Decided: 7}}
	for i := range 240 {
		turns := float64(15 * (i + 1))
		noise := 4e6 * math.Sin(float64(i)*1.7)
		r.Samples = append(r.Samples, sample{
			At: time.Duration(15*(i+1)) * time.Second, Turns: int64(turns), Sessions: int64(turns / 20), RSS: int64(of(turns) + noise), Disk: int64(6000 * turns), Files: 50,
		})
	}
	r.finish(7)
	return r
}

func TestSoakFindsWhatGrows(t *testing.T) {
	for _, c := range []struct {
		name string
		of   func(turns float64) float64
		met  bool
	}{
		{"flat", func(float64) float64 { return 100e6 }, true},
		{"falls", func(n float64) float64 { return 200e6 - 1000*n }, true},
		{"only while it warms up", func(n float64) float64 { return 60e6 + 60e6*min(1, n/900) }, true},
		{"by what the turns leave", func(n float64) float64 { return 100e6 + 1000*n }, true},
		{"a leak", func(n float64) float64 { return 100e6 + 9000*n }, false},
	} {
		r := soakOf(c.of)
		if missed := standin.MissedOf(r.Goals); (len(missed) == 0) != c.met {
			t.Errorf("%s: %v, %+v", c.name, missed, r.Slopes)
		}
	}
	if r := soakOf(func(n float64) float64 { return 100e6 + 9000*n }); math.Abs(r.perSession()-20*9000) > 2e4 {
		t.Errorf("a session of 20 turns of 9 kB leaves %.0f B", r.perSession())
	}
}

func TestSoakShowsItsSeries(t *testing.T) {
	r := soakOf(func(float64) float64 { return 100e6 })
	var res result.Result
	r.Fill(&res)
	var names []string
	for _, s := range res.Series {
		names = append(names, s.Name)
	}
	want := []string{"Memory of the daemon", "Open files", "Disk that the home takes", "Doorbells not settled", "Turns"}
	if !slices.Equal(names, want) { // what is not known has none
		t.Errorf("%q", names)
	}
	var b strings.Builder
	r.Print(console.Printer{Out: &b})
	if !strings.Contains(b.String(), "3600 turns in 180 sessions") {
		t.Error(b.String())
	}
}

func TestSoakUsage(t *testing.T) {
	for _, args := range [][]string{{"--for", "10s"}, {"--warmup", "1"}, {"--sessions", "0"}, {"--delay", "x"}, {"extra"}} {
		if code := standin.Misused(t, Command, args...); code != 2 {
			t.Errorf("%q: exit %d", args, code)
		}
	}
}
