package markdown

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// Kind says what a piece is.
type Kind int

const (
	Block      Kind = iota // Markdown that can be parsed by itself
	CodeBegins             // Text is the language, as written
	CodeLine               // of a code block that is not part of anything else
	CodeEnds
	Plain // too long or too deep to be anything but text
)

// Piece is a part of a text that nothing after it changes.
type Piece struct {
	Kind Kind
	Text string
	Gap  bool // an empty line comes before it
}

// longest is how many bytes a block may have and still be parsed: what is longer is no prose, and might be made to keep the
// parser busy.
const longest = 32 << 10

// Splitter cuts a growing text into pieces: paragraphs, headings, tables, the items of a list, lines of code. It decides
// by whole lines, so that the same text gives the same pieces however it comes. The zero value is ready.
type Splitter struct {
	line  []byte   // the unfinished one
	block []string // lines of the unfinished block
	size  int      // of block, in bytes
	gap   bool     // an empty line came before the block
	any   bool     // something was handed out
	blank int      // empty lines at the end of block, which a list may go on after
	list  bool     // block is an item of a list
	base  int      // columns before its marker
	inner fence    // open within the block
	outer fence    // open by itself: its lines are handed out one by one
}

// Add takes more of the text and returns what has become complete.
func (s *Splitter) Add(text string) (out []Piece) {
	for text != "" {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			s.line = append(s.line, text...)
			return out
		}
		s.line = append(s.line, text[:i]...)
		text = text[i+1:]
		out = s.take(out, string(s.line))
		s.line = s.line[:0]
	}
	return out
}

// End returns what is left, and begins a new text.
func (s *Splitter) End() (out []Piece) {
	if len(s.line) > 0 {
		out = s.take(out, string(s.line))
	}
	out = s.flush(out)
	if s.outer.open() {
		out = append(out, Piece{Kind: CodeEnds})
	}
	*s = Splitter{}
	return out
}

// Tail is up to some n bytes of the end of what is not complete yet.
func (s *Splitter) Tail(n int) string {
	if len(s.line) >= n {
		return string(bytes.ToValidUTF8(s.line[len(s.line)-n:], nil))
	}
	tail := string(s.line)
	for i := len(s.block) - 1; i >= 0 && len(tail) < n; i-- {
		tail = s.block[i] + "\n" + tail
	}
	return strings.ToValidUTF8(tail[max(0, len(tail)-n):], "")
}

// take decides what a whole line does.
func (s *Splitter) take(out []Piece, line string) []Piece {
	indent := indentOf(line)
	empty := strings.TrimSpace(line) == ""
	switch {
	case s.outer.closedBy(line):
		s.outer, s.gap = fence{}, true
		return append(out, Piece{Kind: CodeEnds})
	case s.outer.open():
		return append(out, Piece{Kind: CodeLine, Text: unindent(line, s.outer.indent)})
	case s.inner.open():
		if s.inner.closedBy(line) {
			s.inner = fence{}
		}
		return s.keep(out, line)
	case empty && s.list:
		s.blank++
		return s.keep(out, line)
	case empty:
		out = s.flush(out)
		s.gap = true
		return out
	case s.list && indent >= s.base+2:
		return s.within(out, line)
	case s.list && s.blank > 0:
		out = s.flush(out)
	}
	return s.atTop(out, line, indent)
}

// atTop takes a line that is not indented into a list.
func (s *Splitter) atTop(out []Piece, line string, indent int) []Piece {
	if indent > 3 { // no mark means anything there
		return s.keep(out, line)
	}
	if f := fenceOf(line); f.open() {
		out = s.flush(out)
		out = append(out, Piece{Kind: CodeBegins, Text: f.info, Gap: s.any})
		s.outer, s.gap, s.any = f, false, true
		return out
	}
	if heading.MatchString(line) {
		out = s.flush(out)
		s.gap = true
		return s.flush(s.keep(out, line))
	}
	m := marker.FindStringSubmatch(line)
	if m == nil || rule.MatchString(line) {
		return s.keep(out, line) // it may go on with the item before without being indented
	}
	number := strings.TrimRight(m[1], ".)-*+")
	if len(s.block) > 0 && !s.list && number != "" && number != "1" {
		return s.keep(out, line) // a year at the beginning of a line is no list
	}
	out = s.flush(out)
	s.list, s.base = true, indent
	return s.within(out, line)
}

// within takes a line of a list's item, in which a code block may begin.
func (s *Splitter) within(out []Piece, line string) []Piece {
	rest := line
	for m := marker.FindString(rest); m != ""; m = marker.FindString(rest) {
		rest = rest[len(m)-1:] // all but the first character of its text
	}
	s.blank, s.inner = 0, fenceOf(strings.TrimLeft(rest, " \t"))
	return s.keep(out, line)
}

func (s *Splitter) keep(out []Piece, line string) []Piece {
	s.block = append(s.block, line)
	s.size += len(line) + 1
	if s.size > longest {
		return s.flush(out)
	}
	return out
}

// flush hands out the block. What comes next has a gap before it if this one ended with an empty line.
func (s *Splitter) flush(out []Piece) []Piece {
	if len(s.block) == 0 {
		return out
	}
	kind := Block
	if s.size > longest || slices.ContainsFunc(s.block, tooDeep) {
		kind = Plain
	}
	lines := s.block[:len(s.block)-s.blank]
	out = append(out, Piece{Kind: kind, Text: strings.Join(lines, "\n") + "\n", Gap: s.gap && s.any})
	s.any, s.gap = true, s.blank > 0
	s.block, s.size, s.blank, s.list, s.base, s.inner = nil, 0, 0, false, 0, fence{}
	return out
}

// deepest is how many quotes within quotes are parsed: the cost grows with the square.
const deepest = 32

func tooDeep(line string) bool {
	return strings.Count(line[:len(line)-len(strings.TrimLeft(line, "> \t"))], ">") > deepest
}

var (
	heading = regexp.MustCompile(`^ {0,3}#{1,6}([ \t]|$)`)
	rule    = regexp.MustCompile(`^ {0,3}(-[ \t]*-[ \t]*-[- \t]*|\*[ \t]*\*[ \t]*\*[* \t]*|_[ \t]*_[ \t]*_[_ \t]*)$`)
	marker  = regexp.MustCompile(`^[ \t]*([-*+]|\d{1,9}[.)])[ \t]+\S`)
)

// fence is the line that begins a code block.
type fence struct {
	mark   byte // 0: there is none
	length int
	indent int
	info   string
}

func (f fence) open() bool { return f.mark != 0 }

func (f fence) closedBy(line string) bool {
	line = strings.TrimSpace(line)
	return f.open() && len(line) >= f.length && strings.Trim(line, string(f.mark)) == ""
}

func fenceOf(line string) (f fence) {
	text := strings.TrimLeft(line, " \t")
	for _, mark := range []byte("`~") {
		info := strings.TrimLeft(text, string(mark))
		if n := len(text) - len(info); n >= 3 && (mark == '~' || !strings.Contains(info, "`")) {
			return fence{mark: mark, length: n, indent: indentOf(line), info: strings.TrimSpace(info)}
		}
	}
	return f
}

// indentOf is the column where a line's text begins.
func indentOf(line string) (n int) {
	for _, c := range []byte(line) {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

// unindent takes up to n spaces away.
func unindent(line string, n int) string {
	for ; n > 0 && strings.HasPrefix(line, " "); n-- {
		line = line[1:]
	}
	return line
}
