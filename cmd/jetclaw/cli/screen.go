package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/cli/markdown"
)

// screen is where an answer grows.
type screen interface {
	grow(text string) // more of the answer
	yield()           // something else is about to be written
	finish()          // the answer is whole, or no more of it comes
	drop()            // what is not for good on the screen was not of the answer
	showing() bool    // the person sees that something is coming
}

// newScreen shows answers on stdout: rendered, if that is a terminal that can, and else byte for byte. e is the editor that
// has the terminal, or nil.
func (s *shell) newScreen(e *editor) screen {
	if kind, _ := s.lookup("TERM"); !s.outTTY || kind == "dumb" {
		return &rawScreen{out: s.out}
	}
	rich := &richScreen{out: s.out, columns: s.columns, colour: s.colour(s.outTTY), ticker: &lineTicker{out: s.out}}
	if e != nil {
		rich.ticker = e
	}
	return rich
}

// usual is how wide a terminal is that does not say.
const usual = 80

// columns is the width of the terminal.
func (s *shell) columns() int {
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && width > 0 {
		return width
	}
	told, _ := s.lookup("COLUMNS")
	if width, err := strconv.Atoi(told); err == nil && width > 0 {
		return width
	}
	return usual
}

// rawScreen writes a text as it is.
type rawScreen struct {
	out   io.Writer
	dirty bool // something is on the line
}

func (s *rawScreen) grow(text string) {
	if text == "" {
		return
	}
	fmt.Fprint(s.out, text)
	s.dirty = !strings.HasSuffix(text, "\n")
}

func (s *rawScreen) yield() {
	if s.dirty {
		fmt.Fprintln(s.out)
		s.dirty = false
	}
}

func (s *rawScreen) finish()       { s.yield() }
func (s *rawScreen) drop()         { s.yield() }
func (s *rawScreen) showing() bool { return s.dirty }

const (
	widest = 100  // columns: longer lines of prose are hard to read
	tail   = 2000 // bytes that may fill a line of any terminal
)

// richScreen renders Markdown. What is complete is written once and for good; of what is not, the end stands on one line
// that is overwritten. That can be taken back exactly on any terminal: the cursor never leaves the beginning of the line,
// and the line is never full, so that nothing has to be known about where text was wrapped or what has scrolled away.
type richScreen struct {
	out     io.Writer
	columns func() int
	colour  bool
	ticker  ticker

	text     markdown.Splitter
	renderer *markdown.Renderer // nil until the first text of an answer
}

// ticker is a line that comes and goes.
type ticker interface {
	show(text string)
	hide()
	up() bool
}

func (s *richScreen) grow(text string) {
	if text == "" {
		return
	}
	if s.renderer == nil { // for each answer, as the terminal may have got another size
		s.renderer = markdown.New(markdown.Options{Width: min(s.columns()-1, widest), Colour: s.colour, Clean: forTerminal})
	}
	s.write(s.text.Add(text))
	if rest := s.text.Tail(tail); strings.TrimSpace(rest) != "" {
		s.ticker.show(s.tick(rest))
	}
}

func (s *richScreen) write(pieces []markdown.Piece) {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(s.renderer.Render(p))
	}
	if b.Len() > 0 {
		s.ticker.hide()
		fmt.Fprint(s.out, b.String())
	}
}

// tick is the end of a text on less than a line. Terminals do not agree how wide characters are: all but the plainest
// count as wide as any can be.
func (s *richScreen) tick(text string) string {
	r := []rune(forTerminal(text))
	first, room := len(r), s.columns()-2
	for ; first > 0 && room >= 2; first-- {
		if r[first-1] >= ' ' && r[first-1] <= '~' || r[first-1] == '\n' || r[first-1] == '\t' {
			room--
		} else {
			room -= 2
		}
	}
	line := strings.NewReplacer("\n", " ", "\t", " ").Replace(string(r[first:]))
	if s.colour && line != "" {
		line = dim + line + plain
	}
	return line
}

func (s *richScreen) yield() { s.ticker.hide() }

func (s *richScreen) finish() {
	if s.renderer != nil {
		s.write(s.text.End())
	}
	s.drop()
}

func (s *richScreen) drop() {
	s.ticker.hide()
	s.text, s.renderer = markdown.Splitter{}, nil
}

func (s *richScreen) showing() bool { return s.ticker.up() }

const eraseLine = "\x1b[K" // from the cursor on

// lineTicker is a ticker where nothing else is on the line.
type lineTicker struct {
	out io.Writer
	on  bool
}

func (t *lineTicker) show(text string) {
	fmt.Fprint(t.out, "\r"+eraseLine+text+"\r")
	t.on = true
}

func (t *lineTicker) hide() {
	if t.on {
		fmt.Fprint(t.out, "\r"+eraseLine)
		t.on = false
	}
}

func (t *lineTicker) up() bool { return t.on }
