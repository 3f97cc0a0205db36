package stat_test

import (
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

func TestQuantile(t *testing.T) {
	v := make([]int, 100)
	for i := range v {
		v[i] = 100 - i
	}
	for q, want := range map[float64]int{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		if got := stat.Quantile(v, q); got != want {
			t.Errorf("Quantile(%v) = %d, want %d", q, got, want)
		}
	}
	if got := stat.Quantile([]int(nil), 0.5); got != 0 {
		t.Errorf("Quantile of nothing = %d", got)
	}
}

func TestMedianSpread(t *testing.T) {
	got := stat.MedianSpread([]stat.Spread{
		{N: 1, P50: 3, P99: 30, Max: time.Hour}, {N: 2, P50: 1, P99: 20, Max: 50}, {N: 3, P50: 2, P99: 10, Max: 40},
	})
	if want := (stat.Spread{N: 6, P50: 2, P99: 20, Max: 50}); got != want {
		t.Errorf("MedianSpread = %+v, want %+v", got, want)
	}
}
