// Package stat has the few statistics that a report needs.
package stat

import (
	"cmp"
	"slices"
	"time"
)

// Quantile is the q-quantile (0…1) of values in any order, by the nearest rank; the zero value of T for none.
func Quantile[T cmp.Ordered](values []T, q float64) T {
	if len(values) == 0 {
		var zero T
		return zero
	}
	s := slices.Sorted(slices.Values(values))
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

// Median is the middle of values in any order: the upper one of two.
func Median[T cmp.Ordered](values []T) T { return Quantile(values, 0.5) }

// Spread is what a report says of a set of durations.
type Spread struct {
	N   int           `json:"n"`
	P50 time.Duration `json:"p50_ns"`
	P99 time.Duration `json:"p99_ns"`
	Max time.Duration `json:"max_ns"`
}

// SpreadOf summarises durations.
func SpreadOf(d []time.Duration) Spread {
	return Spread{N: len(d), P50: Quantile(d, 0.5), P99: Quantile(d, 0.99), Max: Quantile(d, 1)}
}

// MedianSpread takes each figure's median over several rounds.
func MedianSpread(rounds []Spread) Spread {
	pick := func(f func(Spread) time.Duration) time.Duration {
		var v []time.Duration
		for _, r := range rounds {
			v = append(v, f(r))
		}
		return Median(v)
	}
	n := 0
	for _, r := range rounds {
		n += r.N
	}
	return Spread{
		N:   n,
		P50: pick(func(s Spread) time.Duration { return s.P50 }),
		P99: pick(func(s Spread) time.Duration { return s.P99 }),
		Max: pick(func(s Spread) time.Duration { return s.Max }),
	}
}

// Ratio is a/b, 0 when b is 0.
func Ratio[A, B ~int64 | ~float64](a A, b B) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
