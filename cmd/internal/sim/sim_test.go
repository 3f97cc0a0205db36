package sim

import (
	"flag"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

var (
	oneSeed = flag.Uint64("seed", 0, "play this history alone")
	show    = flag.Bool("trace", false, "print what happens")
	count   = flag.Int("seeds", 10, "how many histories are played, from -first on")
	first   = flag.Uint64("first", 1, "the first of them")
)

func history(t *testing.T, p Plan, out io.Writer, tam tamper) Result {
	t.Helper()
	var r Result
	synctest.Test(t, func(*testing.T) { r = play(p, out, tam) })
	return r
}

func TestSim(t *testing.T) {
	var out io.Writer
	if *show {
		out = os.Stdout
	}
	if *oneSeed != 0 {
		*first, *count = *oneSeed, 1
	}
	began, steps := time.Now(), 0
	for seed := *first; seed < *first+uint64(*count); seed++ {
		r := history(t, NewPlan(seed), out, tamper{})
		steps += r.Steps
		t.Logf("seed %d: %016x %d steps %d events %v", seed, r.Sum, r.Steps, r.Events, r.Took)
		if r.Err != nil {
			t.Errorf("seed %d: %v", seed, r.Err)
		}
	}
	t.Logf("%d steps, %.0f/s", steps, float64(steps)/time.Since(began).Seconds())
}
