package result

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

// picture is one plot of the page.
type picture struct {
	Name string
	Text string // in words what it shows: also for who does not see it
	SVG  template.HTML
	Keys []key
}

// key says what a colour means.
type key struct{ Class, Name string }

func milli(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func frame(height float64) (x, y scale) {
	return scale{from: left, to: width - right}, scale{from: height - bottom, to: top}
}

func curveClass(i int, floor bool) string {
	if floor {
		return "f" + fmt.Sprint(i%2)
	}
	return "m" + fmt.Sprint(i%2)
}

// distribution has the time on a logarithmic axis, and the share of all that fell into each bucket upwards.
func distribution(d Distribution) picture {
	c := &canvas{height: 230}
	x, y := frame(c.height)
	x.log, x.min, x.max = true, math.Inf(1), 0
	for _, k := range d.Curves {
		for i, n := range k.Hist.Counts {
			if from, to := k.Hist.Bounds(i); n > 0 {
				x.min, x.max = min(x.min, milli(from)), max(x.max, milli(to))
				y.max = max(y.max, float64(n)/float64(k.Hist.N()))
			}
		}
	}
	p := picture{Name: d.Name}
	if x.max == 0 {
		return p
	}
	y.max *= 1.1
	c.axes(x, y, "ms", func(v float64) string { return Number(100*v) + " %" })
	var said []string
	drawn := map[bool]int{}
	for _, k := range d.Curves {
		if k.Hist.N() == 0 {
			continue
		}
		class := curveClass(drawn[k.Floor], k.Floor)
		drawn[k.Floor]++
		c.path("area "+class, outline(k.Hist, x, y), true)
		p50, p99 := milli(k.Hist.Quantile(0.5)), milli(k.Hist.Quantile(0.99))
		c.line("median "+class, x.at(p50), y.from, x.at(p50), y.to)
		said = append(said, fmt.Sprintf("%s: half within %s, 99 %% within %s, of %s", k.Name, With(p50, "ms"), With(p99, "ms"), Number(float64(k.Hist.N()))))
		p.Keys = append(p.Keys, key{class, k.Name})
	}
	p.Text = strings.Join(said, "; ") + "."
	p.SVG = c.svg(d.Name, p.Text)
	return p
}

// outline are the steps of a histogram.
func outline(h stat.Histogram, x, y scale) (out []xy) {
	n := float64(h.N())
	for i, count := range h.Counts {
		from, to := h.Bounds(i)
		at := y.at(float64(count) / n)
		if i == 0 {
			out = append(out, xy{x.at(milli(from)), y.from})
		}
		out = append(out, xy{x.at(milli(from)), at}, xy{x.at(milli(to)), at})
		if i == len(h.Counts)-1 {
			out = append(out, xy{x.at(milli(to)), y.from})
		}
	}
	return out
}

// series is one number over time, with what was done meanwhile, and the line that says whether it grows.
func series(s Series, marks []Mark) picture {
	c := &canvas{height: 170}
	x, y := frame(c.height)
	p := picture{Name: s.Name, Keys: []key{{"m0", s.Name}}}
	if len(s.Points) == 0 {
		return p
	}
	for _, q := range s.Points {
		x.max, y.max = max(x.max, q.At), max(y.max, q.Value)
	}
	y.max = niceStep(max(y.max*1.05, 1e-9)/4) * 4
	unit := s.Unit
	if unit == "B" {
		unit = "" // it goes with each number
	}
	c.axes(x, y, strings.TrimPrefix(unit+" over s", " over "), func(v float64) string {
		if s.Unit == "B" {
			return With(v, "B")
		}
		return Number(v)
	})
	for _, m := range marks {
		if m.At <= x.max {
			c.line("mark", x.at(m.At), y.from, x.at(m.At), y.to)
		}
	}
	var points []xy
	low, high := math.Inf(1), math.Inf(-1)
	for _, q := range s.Points {
		points = append(points, xy{x.at(q.At), y.at(q.Value)})
		low, high = min(low, q.Value), max(high, q.Value)
	}
	c.path("curve m0", points, false)
	last := s.Points[len(s.Points)-1]
	p.Text = fmt.Sprintf("between %s and %s in %s; at the end %s", With(low, s.Unit), With(high, s.Unit), With(last.At, "s"), With(last.Value, s.Unit))
	if len(marks) > 0 {
		p.Keys = append(p.Keys, key{"mark", marks[0].What})
	}
	if l := s.Slope; l != nil && last.At > s.From {
		c.path("slope", []xy{{x.at(s.From), y.at(max(0, l.At(s.From)))}, {x.at(last.At), y.at(max(0, l.At(last.At)))}}, false)
		p.Keys = append(p.Keys, key{"slope", "least squares after the warm-up"})
		p.Text += fmt.Sprintf("; it grows by %s an hour after the warm-up", With(l.Slope*3600, s.Unit))
	}
	p.Text += "."
	p.SVG = c.svg(s.Name, p.Text)
	return p
}

// recovery has a column for each mark: until ready, and from there until the first interrupted thing went on.
func recovery(marks []Mark) (p picture, some bool) {
	c := &canvas{height: 200}
	x, y := frame(c.height)
	var n int
	for _, m := range marks {
		if m.Ready != nil {
			n++
			v := *m.Ready
			if m.Again != nil {
				v += *m.Again
			}
			y.max = max(y.max, v)
		}
	}
	if n == 0 {
		return picture{}, false
	}
	p = picture{Name: "Recovery after each " + marks[0].What, Keys: []key{{"m0", "until ready"}, {"f0", "until the first interrupted turn went on"}}}
	y.max = niceStep(y.max*1.05/4) * 4
	for _, v := range y.ticks(4) {
		c.line("grid", x.from, y.at(v), x.to, y.at(v))
		c.text("tick", "end", x.from-8, y.at(v)+4, With(v, "s"))
	}
	c.line("axis", x.from, y.from, x.to, y.from)
	c.text("label", "end", x.to, c.height-8, fmt.Sprintf("%d in order; none: it was hit again before it was ready", len(marks)))
	slot := (x.to - x.from) / float64(len(marks))
	worst := 0.0
	for i, m := range marks {
		if m.Ready == nil {
			continue
		}
		at, w := x.from+(float64(i)+0.15)*slot, min(0.7*slot, 24)
		sum := *m.Ready
		c.rect("bar m0", at, y.at(*m.Ready), w, y.from-y.at(*m.Ready), fmt.Sprintf("%s %d: ready after %s", m.What, i+1, With(*m.Ready, "s")))
		if m.Again != nil {
			sum += *m.Again
			c.rect("bar f0", at, y.at(sum), w, y.at(*m.Ready)-y.at(sum),
				fmt.Sprintf("%s %d: the first turn goes on %s after ready", m.What, i+1, With(*m.Again, "s")))
		}
		worst = max(worst, sum)
	}
	p.Text = fmt.Sprintf("%d times; the slowest took %s until a turn went on.", len(marks), With(worst, "s"))
	p.SVG = c.svg(p.Name, p.Text)
	return p, true
}

// bars has figures of one unit that have a floor: the floor below, what was measured above it.
func bars(name, unit string, all []Figure) (p picture, some bool) {
	const row, gap, label = 30.0, 12.0, 150.0
	var list []Figure
	most := 0.0
	for _, f := range all {
		if f.Unit == unit && f.Floor > 0 && len(f.Values) > 0 {
			list = append(list, f)
			most = max(most, f.Value, f.Floor)
		}
	}
	if len(list) == 0 {
		return picture{}, false
	}
	c := &canvas{height: float64(len(list))*(row+gap) + 2*gap}
	x := scale{max: most, from: label, to: width - 120}
	p = picture{Name: name, Keys: []key{{"m0", "measured"}, {"f0", "floor"}}}
	var said []string
	for i, f := range list {
		y := gap + float64(i)*(row+gap)
		c.text("label", "end", label-10, y+row/2+4, f.Name)
		c.rect("bar m0", x.from, y, x.at(f.Value)-x.from, row/2-1, "measured")
		c.rect("bar f0", x.from, y+row/2+1, x.at(f.Floor)-x.from, row/2-1, "floor")
		c.text("tick", "start", x.at(f.Value)+6, y+row/2-4, With(f.Value, unit)+fmt.Sprintf(" (%s %%)", Number(math.Round(100*f.Ratio))))
		c.text("tick", "start", x.at(f.Floor)+6, y+row-2, With(f.Floor, unit))
		said = append(said, fmt.Sprintf("%s: %s, floor %s", f.Name, With(f.Value, unit), With(f.Floor, unit)))
	}
	p.Text = strings.Join(said, "; ") + "."
	p.SVG = c.svg(name, p.Text)
	return p, true
}
