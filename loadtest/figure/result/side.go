package result

import (
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

// MeasuredCurve is one side of a distribution; FloorCurve is the other.
func MeasuredCurve(h stat.Histogram) Curve { return Curve{Name: "measured", Hist: h} }

// FloorCurve is what a measurement is compared with, by its name.
func FloorCurve(name string, h stat.Histogram) Curve {
	return Curve{Name: name, Floor: true, Hist: h}
}

// Counted is a count that has to be nothing.
func Counted(id, what string, n int) Figure {
	return Goal(what, "0", Number(float64(n)), n == 0).As(id).In("", float64(n))
}
