package main

import (
	"time"

	"github.com/jetclaw/jetclaw/loadtest/stat"
)

// msOf are the milliseconds of one duration of each round.
func msOf[R any](rounds []R, of func(R) time.Duration) []float64 {
	return each(rounds, func(r R) float64 { return ms(of(r)) })
}

// in are durations as a figure has them.
func in(all ...time.Duration) []float64 { return each(all, ms) }

// merged adds up what the rounds have counted.
func merged[R any](rounds []R, of func(R) stat.Histogram) (h stat.Histogram) {
	for _, r := range rounds {
		h.Merge(of(r))
	}
	return h
}

func each[A, B any](from []A, f func(A) B) []B {
	out := make([]B, 0, len(from))
	for _, a := range from {
		out = append(out, f(a))
	}
	return out
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
