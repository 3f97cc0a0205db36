package stat_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

func TestLine(t *testing.T) {
	for _, c := range []struct {
		name            string
		x, y            []float64
		slope, at0, off float64
	}{
		{"none", nil, nil, 0, 0, 0},
		{"one", []float64{3}, []float64{7}, 0, 7, 0},
		{"same x", []float64{3, 3}, []float64{6, 8}, 0, 7, 0},
		{"exact", []float64{1, 2, 4}, []float64{5, 7, 11}, 2, 3, 0},
		{"falls", []float64{0, 10}, []float64{5, 0}, -0.5, 5, 0},
		// The residuals are −½, 1, −½.
		{"scatter", []float64{-1, 0, 1}, []float64{-1, 1.5, 1}, 1, 0.5, math.Sqrt(1.5 / 1 / 2)},
	} {
		l := stat.LineOf(c.x, c.y)
		if near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }; !near(l.Slope, c.slope) || !near(l.At0, c.at0) || !near(l.Error, c.off) || l.N != len(c.x) {
			t.Errorf("%s: %+v, want slope %v, at 0 %v, error %v", c.name, l, c.slope, c.at0, c.off)
		}
	}
}

func TestHistogram(t *testing.T) {
	var all []time.Duration
	for i := range 1000 {
		all = append(all, time.Duration(i+1)*time.Millisecond)
	}
	h := stat.HistogramOf(all[:400])
	h.Merge(stat.HistogramOf(all[400:]))
	if whole := stat.HistogramOf(all); !reflect.DeepEqual(h, whole) || h.N() != 1000 {
		t.Errorf("merged %+v\nwhole  %+v", h, whole)
	}
	for q, want := range map[float64]time.Duration{0: time.Millisecond, 0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond, 1: time.Second} {
		if got := h.Quantile(q); float64(got) < 0.88*float64(want) || float64(got) > 1.13*float64(want) {
			t.Errorf("quantile %v: %s, want about %s", q, got, want)
		}
	}
	b, err := json.Marshal(h)
	var back stat.Histogram
	if err == nil {
		err = json.Unmarshal(b, &back)
	}
	if err != nil || !reflect.DeepEqual(back, h) {
		t.Errorf("%v, back %+v", err, back)
	}
	var low stat.Histogram
	low.Add(0)
	low.Add(time.Hour)
	low.Add(time.Nanosecond)
	if from, _ := low.Bounds(0); from != time.Microsecond || low.Counts[0] != 2 || low.N() != 3 {
		t.Errorf("%+v", low)
	}
	if (stat.Histogram{}).Quantile(0.5) != 0 {
		t.Error("an empty one has a median")
	}
}
