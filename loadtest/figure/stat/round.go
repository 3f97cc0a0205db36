package stat

import (
	"time"
)

// MSOf are the milliseconds of one duration of each round.
func MSOf[R any](rounds []R, of func(R) time.Duration) []float64 {
	return Each(rounds, func(r R) float64 { return MS(of(r)) })
}

// AllMS are the milliseconds of durations.
func AllMS(all ...time.Duration) []float64 { return Each(all, MS) }

// Merged adds up what the rounds have counted.
func Merged[R any](rounds []R, of func(R) Histogram) (h Histogram) {
	for _, r := range rounds {
		h.Merge(of(r))
	}
	return h
}

// Each is f of all of them, in their order.
func Each[A, B any](from []A, f func(A) B) []B {
	out := make([]B, 0, len(from))
	for _, a := range from {
		out = append(out, f(a))
	}
	return out
}

// MS are milliseconds, as figures have them.
func MS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
