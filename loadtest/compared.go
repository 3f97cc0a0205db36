package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/result"
	"github.com/jetclaw/jetclaw/loadtest/stat"
)

// compared are two readings of the same rounds, and their ratios: each is the median of the rounds' own.
type compared struct {
	cell
	One      reading `json:"one"`   // what is in question
	Other    reading `json:"other"` // what it is compared with
	CPU      float64 `json:"cpu_ratio"`
	AddedP50 float64 `json:"added_p50_ratio"`
	AddedP99 float64 `json:"added_p99_ratio"`
	TurnP50  float64 `json:"turn_p50_ratio"`
}

func compare(c cell, one, other []reading) compared {
	ratio := func(f func(reading) time.Duration) float64 {
		var all []float64
		for i := range one {
			all = append(all, stat.Ratio(f(one[i]), f(other[i])))
		}
		return stat.Median(all)
	}
	return compared{
		cell: c, One: medianReading(one), Other: medianReading(other),
		CPU:      ratio(func(r reading) time.Duration { return r.CPU }),
		AddedP50: ratio(func(r reading) time.Duration { return r.Added.P50 }),
		AddedP99: ratio(func(r reading) time.Duration { return r.Added.P99 }),
		TurnP50:  ratio(func(r reading) time.Duration { return r.Turn.P50 }),
	}
}

// printCompared has two lines for each cell, and the ratio behind the first.
func printCompared(p printer, lines []compared, one, other string) {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\t\n", args...) }
	row("sync\tsessions\t\tturn\tadded\tturns/s\tCPU ms\trequest B\tRSS MB\tCPU\tadded p50\tadded p99\tturn p50")
	pair := func(s stat.Spread) string { return fmt.Sprintf("%.2f/%.2f", ms(s.P50), ms(s.P99)) }
	for _, l := range lines {
		for i, r := range []reading{l.One, l.Other} {
			name, ratios := other, "\t\t\t"
			if i == 0 {
				name, ratios = one, fmt.Sprintf("%.2f×\t%.2f×\t%.2f×\t%.2f×", l.CPU, l.AddedP50, l.AddedP99, l.TurnP50)
			}
			row("%s\t%d\t%s\t%s\t%s\t%.0f\t%.2f\t%d\t%.0f\t%s", l.Sync, l.Sessions, name, pair(r.Turn), pair(r.Added),
				r.PerSecond, ms(r.CPU), r.Request, float64(r.RSS)/1e6, ratios)
		}
	}
	_ = w.Flush()
}

// fillCompared has what is in question beside what it is compared with.
func fillCompared(of, one, other string, lines []compared, to *result.Result) {
	for _, l := range lines {
		what := fmt.Sprintf(", %s, %s to %s", l.String(), one, other)
		to.Figures = append(to.Figures,
			result.Of(of+".turn_p50"+l.key(), "a turn, p50"+what, "ms", ms(l.One.Turn.P50)).Beside(ms(l.Other.Turn.P50)),
			result.Of(of+".added_p50"+l.key(), "added to it, p50"+what, "ms", ms(l.One.Added.P50)).Beside(ms(l.Other.Added.P50)),
			result.Of(of+".cpu"+l.key(), "CPU of a turn"+what, "ms", ms(l.One.CPU)).Beside(ms(l.Other.CPU)),
			result.Of(of+".rate"+l.key(), l.String(), "turns/s", l.One.PerSecond).Beside(l.Other.PerSecond))
	}
}
