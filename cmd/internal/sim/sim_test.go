package sim

import (
	"flag"
	"io"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

var (
	seedFlag   = flag.Uint64("seed", 0, "play the history of this seed alone")
	actsFlag   = flag.String("acts", "", "with -seed: which of its acts are kept, as 1,4,7; - for none")
	faultsFlag = flag.String("faults", "", "with -seed: which of its faults are kept")
	calmFlag   = flag.Bool("calm", false, "with -seed: no message is lost, late or doubled by itself")
	stepsFlag  = flag.Int("steps", DefaultSteps, "more occurrences in one history are a failure")
	showFlag   = flag.Bool("show", false, "with -seed: print all that happens")
	firstFlag  = flag.Uint64("first", 1, "play histories from this seed on")
	seedsFlag  = flag.Uint64("seeds", 60, "how many")
	twiceFlag  = flag.Bool("twice", false, "play each twice: both have to be the same, step by step")
	forFlag    = flag.Duration("for", 0, "play as many as fit into this time instead")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// history plays a plan in a bubble of its own.
func history(t *testing.T, p Plan, out io.Writer, tam tamper) Result {
	t.Helper()
	var r Result
	synctest.Test(t, func(*testing.T) { r = play(p, out, tam) })
	return r
}

// TestSim plays histories. Each that fails is made smaller, and the command that plays it again is printed.
func TestSim(t *testing.T) {
	if *seedFlag != 0 {
		one(t)
		return
	}
	began, steps, n := time.Now(), 0, uint64(0)
	for ; *forFlag > 0 && time.Since(began) < *forFlag || *forFlag == 0 && n < *seedsFlag; n++ {
		seed := *firstFlag + n
		p := NewPlan(seed)
		p.Steps = *stepsFlag
		r := history(t, p, nil, tamper{})
		if *twiceFlag {
			if again := history(t, p, nil, tamper{}); again.Sum != r.Sum {
				t.Errorf("seed %d is not the same a second time: %016x with %d steps, then %016x with %d", seed, r.Sum, r.Steps, again.Sum, again.Steps)
			}
		}
		if steps += r.Steps; r.Err == nil {
			continue
		}
		k := shrink(All(p), p.Calm, 300, func(k Keep) bool { return history(t, k.Of(p), nil, tamper{}).Err != nil })
		t.Errorf("seed %d: %v\nall of it: %s\nenough of it: %s", seed, r.Err, command(seed, nil), command(seed, &k))
	}
	t.Logf("seeds %d to %d: %d steps, %.0f a second", *firstFlag, *firstFlag+n-1, steps, float64(steps)/time.Since(began).Seconds())
}

// one plays what the flags say.
func one(t *testing.T) {
	p := NewPlan(*seedFlag)
	k, err := p.Parse(*actsFlag, *faultsFlag, *calmFlag)
	if err != nil {
		t.Fatal(err)
	}
	p.Steps = *stepsFlag
	p = k.Of(p)
	var out io.Writer
	if *showFlag {
		out = os.Stdout
	}
	r := history(t, p, out, tamper{})
	t.Logf("%d processes, acts %v, faults %v, calm %v", p.Processes, p.Acts, p.Faults, p.Calm)
	t.Logf("%016x: %d steps, %d events, %v", r.Sum, r.Steps, r.Events, r.Took)
	if r.Err != nil {
		t.Errorf("seed %d: %v", p.Seed, r.Err)
	}
}

// TestTheSameSeedIsTheSameHistory: step by step, and so are the journals, as ids, types and cursors are part of the sum.
func TestTheSameSeedIsTheSameHistory(t *testing.T) {
	sums := map[uint64]uint64{}
	for seed := uint64(1); seed <= 25; seed++ {
		a, b := history(t, NewPlan(seed), nil, tamper{}), history(t, NewPlan(seed), io.Discard, tamper{})
		if a.Sum != b.Sum || a.Steps != b.Steps || a.Events != b.Events {
			t.Errorf("seed %d: %+v, then %+v", seed, a, b)
		}
		if other, twice := sums[a.Sum]; twice {
			t.Errorf("seeds %d and %d are the same history", other, seed)
		}
		sums[a.Sum] = seed
	}
}

// TestFlags: no flag has the name of one of go test's own, which would take it.
func TestFlags(t *testing.T) {
	flag.VisitAll(func(f *flag.Flag) {
		if flag.Lookup("test."+f.Name) != nil {
			t.Errorf("go test -%s is not ours", f.Name)
		}
	})
}

// TestShrink makes a plan smaller whose failure needs two acts and a fault, and reads back what it says.
func TestShrink(t *testing.T) {
	needs := func(k Keep) bool {
		return slices.Contains(k.Faults, 3) && slices.Contains(k.Acts, 7) && slices.Contains(k.Acts, 2)
	}
	p := NewPlan(1)
	p.Acts, p.Faults = make([]Act, 20), make([]Fault, 9)
	k := shrink(All(p), false, 300, needs)
	if got := command(1, &k); got != "go test ./cmd/internal/sim -run 'TestSim$' -seed=1 -acts=2,7 -faults=3 -calm" {
		t.Error(got)
	}
	back, err := p.Parse("2,7", "3", true)
	if err != nil || !slices.Equal(back.Acts, k.Acts) || !slices.Equal(back.Faults, k.Faults) || !back.Calm {
		t.Errorf("%+v, %v", back, err)
	}
	for _, wrong := range []string{"20", "-1", "x", "1,"} {
		if _, err := p.Parse(wrong, "", false); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
