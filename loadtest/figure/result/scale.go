package result

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// scale puts numbers on an axis of a picture.
type scale struct {
	min, max float64 // of the numbers
	from, to float64 // of the picture
	log      bool
}

func (s scale) at(v float64) float64 {
	lo, hi := s.min, s.max
	if s.log {
		v, lo, hi = math.Log10(max(v, s.min)), math.Log10(lo), math.Log10(hi)
	}
	if hi == lo {
		return s.from
	}
	return s.from + (v-lo)/(hi-lo)*(s.to-s.from)
}

// ticks are round numbers along the axis.
func (s scale) ticks(most int) (out []float64) {
	if s.log {
		for e := math.Floor(math.Log10(s.min)); e <= math.Ceil(math.Log10(s.max)); e++ {
			for _, m := range []float64{1, 2, 5} {
				if v := m * math.Pow(10, e); v >= s.min*0.999 && v <= s.max*1.001 {
					out = append(out, v)
				}
			}
		}
		if len(out) <= most {
			return out
		}
		return decades(out)
	}
	step := niceStep((s.max - s.min) / float64(most))
	for v := math.Ceil(s.min/step) * step; v <= s.max+step/1e6; v += step {
		out = append(out, math.Round(v/step)*step)
	}
	return out
}

func decades(all []float64) (out []float64) {
	for _, v := range all {
		if l := math.Log10(v); math.Abs(l-math.Round(l)) < 1e-9 {
			out = append(out, v)
		}
	}
	return out
}

// niceStep is 1, 2 or 5 times a power of ten, and no less than v.
func niceStep(v float64) float64 {
	if v <= 0 {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*p >= v*0.999999 {
			return m * p
		}
	}
	return 10 * p
}

// Number is a number for people: three digits that count, thousands apart.
func Number(v float64) string {
	a := math.Abs(v)
	switch {
	case v == math.Trunc(v) && a < 1e4, a >= 100:
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 1e-9:
		return "0"
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

func thousands(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// With is a number with its unit. Bytes and seconds take the unit that suits them.
func With(v float64, unit string) string {
	a := math.Abs(v)
	switch unit {
	case "":
		return Number(v)
	case "B":
		for _, u := range []struct {
			size float64
			name string
		}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
			if a >= u.size {
				return Number(v/u.size) + " " + u.name
			}
		}
	case "ms":
		if a >= 10_000 {
			return Number(v/1000) + " s"
		}
	case "×", "%":
		return fmt.Sprintf("%s%s", Number(v), map[string]string{"×": "×", "%": " %"}[unit])
	}
	return Number(v) + " " + unit
}
