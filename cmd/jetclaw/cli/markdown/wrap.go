package markdown

import (
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
)

// look is how a character looks.
type look uint8

const (
	strong look = 1 << iota
	emphasis
	struck
	mono
	link
	faint
	title
)

// sequences that begin a look. Each is ended by a reset.
var sequences = []struct {
	look look
	code string
}{ //nolint:gochecknoglobals // constants
	{strong, "1"}, {emphasis, "3"}, {struck, "9"}, {mono, "36"}, {link, "4"}, {faint, "2"}, {title, "1;35"},
}

const reset = "\x1b[0m"

// span is text of one look. A line break in it is one on the screen.
type span struct {
	text string
	look look
}

// line is a line on the screen.
type line struct {
	text  string // with sequences, all ended
	width int    // columns
}

func (l line) after(prefix string) line {
	return line{text: prefix + l.text, width: widthOf(prefix) + l.width}
}

// widthOf is how many columns a text without sequences takes.
func widthOf(s string) int { return displaywidth.String(s) }

// word is what is not broken: parts of several looks. A space before it is lost where it begins a line.
type word struct {
	parts []span
	width int
	space bool
	fresh bool // begins a line whatever fits
	look  look // of the space before it
}

// words takes spans apart, without spaces.
func words(spans []span) (out []word) {
	var w word
	var text strings.Builder
	part := func(l look) {
		if text.Len() > 0 {
			w.parts = append(w.parts, span{text.String(), l})
			w.width += widthOf(text.String())
			text.Reset()
		}
	}
	end := func(next word) {
		if len(w.parts) > 0 || w.fresh && next.fresh {
			out = append(out, w)
		} else {
			next.fresh, next.space = next.fresh || w.fresh, next.space || w.space
		}
		w = next
	}
	for _, s := range spans {
		for _, r := range s.text {
			switch {
			case r == '\n':
				part(s.look)
				end(word{fresh: true})
			case unicode.IsSpace(r) && r != '\u00a0' && r != '\u202f':
				part(s.look)
				end(word{space: true, look: s.look})
			case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana): // written without spaces
				text.WriteRune(r)
				part(s.look)
				end(word{})
			default:
				text.WriteRune(r)
			}
		}
		part(s.look)
	}
	if len(w.parts) > 0 {
		out = append(out, w)
	}
	return out
}

// wrap sets spans in lines of a width. A word that is too long for any line stays where it is, and whole: an address that
// is broken is none.
func (r *Renderer) wrap(spans []span, width int) (lines []line) {
	var b painter
	b.colour = r.Colour
	for i, w := range words(spans) {
		gap := 0
		if w.space && b.width > 0 {
			gap = 1
		}
		if i > 0 && (w.fresh || b.width > 0 && b.width+gap+w.width > width && w.width <= width) {
			lines = append(lines, b.line())
			gap = 0
		}
		if gap > 0 {
			b.write(" ", w.look)
		}
		for _, p := range w.parts {
			b.write(p.text, p.look)
		}
	}
	if b.width > 0 {
		lines = append(lines, b.line())
	}
	return lines
}

// painter writes one line.
type painter struct {
	colour bool
	b      strings.Builder
	now    look
	width  int
}

func (p *painter) write(text string, l look) {
	p.turn(l)
	p.b.WriteString(text)
	p.width += widthOf(text)
}

func (p *painter) turn(l look) {
	if !p.colour || l == p.now {
		return
	}
	if p.now != 0 {
		p.b.WriteString(reset)
	}
	p.now = l
	for _, s := range sequences {
		if l&s.look != 0 {
			p.b.WriteString("\x1b[" + s.code + "m")
		}
	}
}

func (p *painter) line() line {
	p.turn(0)
	l := line{p.b.String(), p.width}
	p.b.Reset()
	p.width = 0
	return l
}
