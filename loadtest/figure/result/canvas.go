package result

import (
	"fmt"
	"html"
	"html/template"
	"strings"
)

// Sizes of a picture, in its own units; the page scales it.
const (
	width  = 480.0
	left   = 56.0 // of the drawing: what is before it are the numbers of the axis
	right  = 14.0
	top    = 14.0
	bottom = 40.0
)

// canvas collects the elements of one picture. Colours and fonts are the page's business: elements have classes.
type canvas struct {
	b      strings.Builder
	height float64
}

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(&c.b, format, args...) }

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.add(`<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

func (c *canvas) rect(class string, x, y, w, h float64, title string) {
	c.add(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f">`, class, x, y, max(0, w), max(0, h))
	c.title(title)
	c.add(`</rect>`)
}

func (c *canvas) title(text string) {
	if text != "" {
		c.add(`<title>%s</title>`, html.EscapeString(text))
	}
}

// text is anchored at its start, middle or end.
func (c *canvas) text(class, anchor string, x, y float64, text string) {
	c.add(`<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`, class, anchor, x, y, html.EscapeString(text))
}

type xy struct{ x, y float64 }

func (c *canvas) path(class string, points []xy, closed bool) {
	c.add(`<path class="%s" d="`, class)
	for i, p := range points {
		c.add("%c%.1f %.1f", "ML"[min(i, 1)], p.x, p.y)
	}
	if closed {
		c.add("Z")
	}
	c.add(`"/>`)
}

// axes draws the lines of the ticks and their numbers.
func (c *canvas) axes(x, y scale, xUnit string, yTick func(float64) string) {
	for _, v := range y.ticks(4) {
		c.line("grid", x.from, y.at(v), x.to, y.at(v))
		c.text("tick", "end", x.from-8, y.at(v)+4, yTick(v))
	}
	for _, v := range x.ticks(9) {
		c.line("grid", x.at(v), y.to, x.at(v), y.from)
		c.text("tick", "middle", x.at(v), y.from+16, Number(v))
	}
	c.line("axis", x.from, y.from, x.to, y.from)
	c.text("label", "end", x.to, c.height-4, xUnit)
}

// svg is the whole picture; name and text are what is read to who does not see it.
func (c *canvas) svg(name, text string) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`, width, c.height, html.EscapeString(name+". "+text))
	b.WriteString(c.b.String())
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // every text in it is escaped where it is added
}
