package main

import (
	"github.com/jetclaw/jetclaw/loadtest/result"
	"github.com/jetclaw/jetclaw/loadtest/stat"
)

// measuredCurve and floorCurve are the two sides of a distribution.
func measuredCurve(h stat.Histogram) result.Curve { return result.Curve{Name: "measured", Hist: h} }

func floorCurve(name string, h stat.Histogram) result.Curve {
	return result.Curve{Name: name, Floor: true, Hist: h}
}

// counted is a count that has to be nothing.
func counted(id, what string, n int) result.Figure {
	return result.Goal(what, "0", result.Number(float64(n)), n == 0).As(id).In("", float64(n))
}
