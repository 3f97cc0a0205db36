package main

import (
	"time"

	"github.com/jetclaw/jetclaw/loadtest/result"
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

// measuredCurve and floorCurve are the two sides of a distribution.
func measuredCurve(h stat.Histogram) result.Curve { return result.Curve{Name: "measured", Hist: h} }

func floorCurve(name string, h stat.Histogram) result.Curve {
	return result.Curve{Name: name, Floor: true, Hist: h}
}

// counted is a count that has to be nothing.
func counted(id, what string, n int) result.Figure {
	return result.Goal(what, "0", result.Number(float64(n)), n == 0).As(id).In("", float64(n))
}
