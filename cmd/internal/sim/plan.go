package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Plan is one history to play. All of it but the seed may be made smaller to find what a failure needs.
type Plan struct {
	Seed      uint64
	Steps     int           // occurrences at most; more are a failure: something goes on for ever
	Processes int           // each with all services
	Turmoil   time.Duration // until then there are faults and people; then it has to become quiet
	Calm      bool          // no message is lost, late or doubled by itself
	Acts      []Act         // what people do
	Faults    []Fault
}

// Kind is the kind of a fault.
type Kind string

// The faults.
const (
	Kill    Kind = "kill"    // a process dies; another life of it begins soon
	KillAll Kind = "killall" // all do
	Stop    Kind = "stop"    // a process is asked to stop
	Freeze  Kind = "freeze"  // it stands still
	Cut     Kind = "cut"     // it is cut off from the server
	Step    Kind = "step"    // its clock is stepped
	Down    Kind = "down"    // the server is away, and starts again
	Full    Kind = "full"    // the journal has no room
	Rules   Kind = "rules"   // what the gate decides by changes
)

// Fault happens at a time.
type Fault struct {
	At      time.Duration
	Kind    Kind
	Process int
	For     time.Duration
	By      time.Duration // Step
}

func (f Fault) String() string {
	s := fmt.Sprintf("%s:%d@%v", f.Kind, f.Process, f.At.Round(time.Millisecond))
	if f.For > 0 {
		s += fmt.Sprintf("+%v", f.For.Round(time.Millisecond))
	}
	if f.By != 0 {
		s += fmt.Sprintf("=%v", f.By)
	}
	return s
}

// DefaultSteps is far more than any history needs that ends.
const DefaultSteps = 600_000

// NewPlan is the plan of a seed.
func NewPlan(seed uint64) Plan {
	r := rand.New(rand.NewPCG(seed, 0x706c616e))
	p := Plan{
		Seed: seed, Steps: DefaultSteps, Processes: 1 + r.IntN(3),
		Turmoil: between(r, 30*time.Second, 6*time.Minute), Calm: r.IntN(6) == 0,
	}
	acts, faults := 3+r.IntN(24), r.IntN(16)
	if r.IntN(12) == 0 { // a long one
		acts, faults, p.Turmoil = acts*4, faults*4, p.Turmoil*4
	}
	p.Acts = newActs(r, acts, p.Turmoil)
	kinds := []Kind{Kill, Kill, Kill, KillAll, Stop, Freeze, Freeze, Cut, Cut, Step, Step, Down, Full, Rules}
	steps := []time.Duration{time.Hour, -time.Hour, 20 * time.Second, -20 * time.Second, 2 * time.Second, -2 * time.Second}
	for range faults {
		f := Fault{
			At: time.Duration(r.Int64N(int64(p.Turmoil))), Kind: kinds[r.IntN(len(kinds))], Process: r.IntN(p.Processes),
		}
		switch f.Kind {
		case Freeze, Cut, Full:
			f.For = min(between(r, 200*time.Millisecond, 30*time.Second), p.Turmoil-f.At)
		case Down:
			f.For = min(between(r, 200*time.Millisecond, 15*time.Second), p.Turmoil-f.At)
		case Step:
			f.By = steps[r.IntN(len(steps))]
		case Kill, KillAll, Stop, Rules:
		}
		p.Faults = append(p.Faults, f)
	}
	slices.SortStableFunc(p.Faults, func(a, b Fault) int { return int(a.At - b.At) })
	return p
}

// Parse reads what is kept of p, as flags have it: numbers of acts and of faults, "1,4,7"; "" keeps all, "-" none.
func (p Plan) Parse(acts, faults string, calm bool) (Keep, error) {
	k := All(p)
	k.Calm = k.Calm || calm
	var err error
	if k.Acts, err = parse(k.Acts, acts); err != nil {
		return k, fmt.Errorf("acts: %w", err)
	}
	if k.Faults, err = parse(k.Faults, faults); err != nil {
		return k, fmt.Errorf("faults: %w", err)
	}
	return k, nil
}

func parse(all []int, words string) ([]int, error) {
	switch words {
	case "":
		return all, nil
	case "-":
		return nil, nil
	}
	var some []int
	for word := range strings.SplitSeq(words, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n >= len(all) {
			return nil, fmt.Errorf("%q is none of 0 to %d", word, len(all)-1)
		}
		some = append(some, n)
	}
	return some, nil
}

func numbers(all []int) string {
	if len(all) == 0 {
		return "-"
	}
	words := make([]string, len(all))
	for i, n := range all {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}
