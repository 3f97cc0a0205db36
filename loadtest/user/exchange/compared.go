package exchange

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

// Compared are two readings of the same rounds, and their ratios: each is the median of the rounds' own.
type Compared struct {
	Cell
	One      Reading `json:"one"`   // what is in question
	Other    Reading `json:"other"` // what it is compared with
	CPU      float64 `json:"cpu_ratio"`
	AddedP50 float64 `json:"added_p50_ratio"`
	AddedP99 float64 `json:"added_p99_ratio"`
	TurnP50  float64 `json:"turn_p50_ratio"`
}

// Compare takes the readings of the same rounds, in their order.
func Compare(c Cell, one, other []Reading) Compared {
	ratio := func(f func(Reading) time.Duration) float64 {
		var all []float64
		for i := range one {
			all = append(all, stat.Ratio(f(one[i]), f(other[i])))
		}
		return stat.Median(all)
	}
	return Compared{
		Cell: c, One: medianReading(one), Other: medianReading(other),
		CPU:      ratio(func(r Reading) time.Duration { return r.CPU }),
		AddedP50: ratio(func(r Reading) time.Duration { return r.Added.P50 }),
		AddedP99: ratio(func(r Reading) time.Duration { return r.Added.P99 }),
		TurnP50:  ratio(func(r Reading) time.Duration { return r.Turn.P50 }),
	}
}

// PrintCompared has two lines for each cell, and the ratio behind the first.
func PrintCompared(p console.Printer, lines []Compared, one, other string) {
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\t\n", args...) }
	row("sync\tsessions\t\tturn\tadded\tturns/s\tCPU ms\trequest B\tRSS MB\tCPU\tadded p50\tadded p99\tturn p50")
	pair := func(s stat.Spread) string { return fmt.Sprintf("%.2f/%.2f", stat.MS(s.P50), stat.MS(s.P99)) }
	for _, l := range lines {
		for i, r := range []Reading{l.One, l.Other} {
			name, ratios := other, "\t\t\t"
			if i == 0 {
				name, ratios = one, fmt.Sprintf("%.2f×\t%.2f×\t%.2f×\t%.2f×", l.CPU, l.AddedP50, l.AddedP99, l.TurnP50)
			}
			row("%s\t%d\t%s\t%s\t%s\t%.0f\t%.2f\t%d\t%.0f\t%s", l.Sync, l.Sessions, name, pair(r.Turn), pair(r.Added),
				r.PerSecond, stat.MS(r.CPU), r.Request, float64(r.RSS)/1e6, ratios)
		}
	}
	_ = w.Flush()
}

// FillCompared has what is in question beside what it is compared with.
func FillCompared(of, one, other string, lines []Compared, to *result.Result) {
	for _, l := range lines {
		what := fmt.Sprintf(", %s, %s to %s", l.String(), one, other)
		to.Figures = append(to.Figures,
			result.Of(of+".turn_p50"+l.Key(), "a turn, p50"+what, "ms", stat.MS(l.One.Turn.P50)).Beside(stat.MS(l.Other.Turn.P50)),
			result.Of(of+".added_p50"+l.Key(), "added to it, p50"+what, "ms", stat.MS(l.One.Added.P50)).Beside(stat.MS(l.Other.Added.P50)),
			result.Of(of+".cpu"+l.Key(), "CPU of a turn"+what, "ms", stat.MS(l.One.CPU)).Beside(stat.MS(l.Other.CPU)),
			result.Of(of+".rate"+l.Key(), l.String(), "turns/s", l.One.PerSecond).Beside(l.Other.PerSecond))
	}
}
