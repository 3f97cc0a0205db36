package sim

import (
	"fmt"
	"strings"
)

// Keep is what is left of a plan: numbers of its acts and faults, and whether messages are lost by themselves.
type Keep struct {
	Acts, Faults []int
	Calm         bool
}

// All keeps everything of p.
func All(p Plan) Keep {
	return Keep{Acts: upTo(len(p.Acts)), Faults: upTo(len(p.Faults)), Calm: p.Calm}
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Of is p with nothing but what is kept.
func (k Keep) Of(p Plan) Plan {
	q := p
	q.Acts, q.Faults, q.Calm = nil, nil, k.Calm
	for _, n := range k.Acts {
		a := p.Acts[n]
		a.Number = n
		q.Acts = append(q.Acts, a)
	}
	for _, n := range k.Faults {
		q.Faults = append(q.Faults, p.Faults[n])
	}
	return q
}

// shrink looks for a small part of a plan that fails, too: fewer faults first, then fewer acts, each by leaving out halves,
// quarters, and so on down to single ones. It tries at most tries histories.
func shrink(k Keep, calm bool, tries int, fails func(Keep) bool) Keep {
	try := func(c Keep) bool {
		if tries <= 0 {
			return false
		}
		tries--
		return fails(c)
	}
	for again := true; again && tries > 0; {
		again = false
		if c := k; !calm && !k.Calm {
			c.Calm = true
			if try(c) {
				k, again = c, true
			}
		}
		for _, list := range []func(*Keep) *[]int{
			func(k *Keep) *[]int { return &k.Faults }, func(k *Keep) *[]int { return &k.Acts },
		} {
			for size := max(1, len(*list(&k))/2); size >= 1; size /= 2 {
				for from := 0; from < len(*list(&k)); {
					c := k
					all := *list(&k)
					*list(&c) = append(append([]int(nil), all[:from]...), all[min(from+size, len(all)):]...)
					if try(c) {
						k, again = c, true
					} else {
						from += size
					}
				}
			}
		}
	}
	return k
}

// command is what plays a part of a plan again.
func command(seed uint64, k *Keep) string {
	var b strings.Builder
	fmt.Fprintf(&b, "go test ./cmd/internal/sim -run 'TestSim$' -seed=%d", seed)
	if k != nil {
		fmt.Fprintf(&b, " -acts=%s -faults=%s", numbers(k.Acts), numbers(k.Faults))
		if k.Calm {
			b.WriteString(" -calm")
		}
	}
	return b.String()
}
