package result

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

type page struct {
	Result

	Goals    []line // figures that have one
	Others   []line
	Met      int
	Flags    []string
	Pictures []picture
	Day      string
	Time     string
}

type line struct {
	Figure

	Measured, Spread, FloorText, RatioText string
}

// HTML writes the page.
func (r Result) HTML(w io.Writer) error {
	p := page{Result: r, Day: r.Date.UTC().Format("2006-01-02 15:04 MST"), Time: r.Took.Round(time.Second).String()}
	for _, f := range r.Figures {
		l := line{f, f.Measured(), f.Spread(), "", ""}
		if f.Floor > 0 {
			l.FloorText, l.RatioText = With(f.Floor, f.Unit), With(f.Ratio, "×")
		}
		if f.Goal == "" {
			p.Others = append(p.Others, l)
			continue
		}
		if f.Met {
			p.Met++
		}
		p.Goals = append(p.Goals, l)
	}
	for _, k := range slices.Sorted(maps.Keys(r.Options)) {
		p.Flags = append(p.Flags, "--"+k+" "+r.Options[k])
	}
	p.draw()
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("page of %s: %w", r.Scenario, err)
	}
	return nil
}

func (p *page) draw() {
	add := func(x picture, ok bool) {
		if ok && x.SVG != "" {
			p.Pictures = append(p.Pictures, x)
		}
	}
	for _, d := range p.Distributions {
		add(distribution(d), true)
	}
	var units []string
	for _, f := range p.Figures {
		if strings.HasSuffix(f.Unit, "/s") && !slices.Contains(units, f.Unit) {
			units = append(units, f.Unit)
		}
	}
	for _, u := range units {
		add(bars("Throughput, "+u, u, p.Figures))
	}
	for _, s := range p.Series {
		add(series(s, p.Marks), true)
	}
	add(recovery(p.Marks))
}

// Measured is the figure for people: as its scenario says it, else the median.
func (f Figure) Measured() string {
	if f.Said != "" || len(f.Values) == 0 {
		return f.Said
	}
	return With(f.Value, f.Unit)
}

// Spread is the lowest and the highest of the rounds; "" of one round.
func (f Figure) Spread() string {
	if len(f.Values) < 2 {
		return ""
	}
	return fmt.Sprintf("[%s–%s]", Number(slices.Min(f.Values)), With(slices.Max(f.Values), f.Unit))
}
