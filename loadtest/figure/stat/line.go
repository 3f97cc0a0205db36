package stat

import "math"

// Line is a straight line through points, by least squares.
type Line struct {
	Slope float64 `json:"slope"`
	At0   float64 `json:"at_0"`
	// Error is the standard error of the slope: what it would be off by because the points scatter. With fewer than three points
	// nothing is known of it, and it is 0.
	Error float64 `json:"error"`
	N     int     `json:"n"`
}

// LineOf fits y = At0 + Slope·x. With fewer than two different x the slope is 0 and At0 the mean.
func LineOf(x, y []float64) Line {
	l := Line{N: min(len(x), len(y))}
	if l.N == 0 {
		return l
	}
	n := float64(l.N)
	var mx, my float64
	for i := range l.N {
		mx, my = mx+x[i]/n, my+y[i]/n
	}
	var xx, xy float64
	for i := range l.N {
		xx += (x[i] - mx) * (x[i] - mx)
		xy += (x[i] - mx) * (y[i] - my)
	}
	if xx > 0 {
		l.Slope = xy / xx
	}
	l.At0 = my - l.Slope*mx
	if l.N > 2 && xx > 0 {
		var rest float64
		for i := range l.N {
			d := y[i] - l.At(x[i])
			rest += d * d
		}
		l.Error = math.Sqrt(rest / (n - 2) / xx)
	}
	return l
}

// At is the line's y.
func (l Line) At(x float64) float64 { return l.At0 + l.Slope*x }
