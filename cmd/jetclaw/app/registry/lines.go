package registry

import (
	"bytes"
	"unicode/utf8"
)

// page is a text by its lines, which are counted from 1.
type page struct {
	text   []byte
	starts []int // of each line, and behind the last one the end of the text
}

func pageOf(text []byte) page {
	p := page{text: text, starts: []int{0}}
	for i, c := range text {
		if c == '\n' {
			p.starts = append(p.starts, i+1)
		}
	}
	if p.starts[len(p.starts)-1] < len(text) || len(text) == 0 {
		p.starts = append(p.starts, len(text))
	}
	return p
}

// count is the number of lines.
func (p page) count() int { return len(p.starts) - 1 }

// start is where a line begins; of the line behind the last one, the end of the text.
func (p page) start(line int) int { return p.starts[min(line-1, p.count())] }

// line is what stands in a line, without the line break.
func (p page) line(line int) []byte {
	return bytes.TrimRight(p.text[p.start(line):p.start(line+1)], "\r\n")
}

// offset is the place of a column, counted in characters from 1.
func (p page) offset(line, column int) int {
	at := p.start(line)
	for range column - 1 {
		_, size := utf8.DecodeRune(p.text[at:])
		at += size
	}
	return at
}

// newline is the line break of the text.
func (p page) newline() string {
	if i := bytes.IndexByte(p.text, '\n'); i > 0 && p.text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// blank says whether a line has nothing in it, or ends a document.
func (p page) blank(line int) bool {
	l := bytes.TrimSpace(p.line(line))
	return len(l) == 0 || bytes.Equal(p.line(line), []byte("..."))
}

// remark says whether a line is a comment, and how far it is indented.
func (p page) remark(line int) (indent int, ok bool) {
	l := p.line(line)
	rest := bytes.TrimLeft(l, " ")
	return len(l) - len(rest), len(rest) > 0 && rest[0] == '#'
}

// last is the last line of what begins in line from with the given indent, when something else begins in line next: empty lines
// and comments that are not deeper belong to what follows.
func (p page) last(from, indent, next int) int {
	line := next - 1
	for ; line > from; line-- {
		if n, ok := p.remark(line); !p.blank(line) && (!ok || n > indent) {
			break
		}
	}
	return line
}

// first is the first line of what begins in line from: comments right above, in the same column, belong to it. after is a line
// of something else.
func (p page) first(from, indent, after int) int {
	for from-1 > after {
		if n, ok := p.remark(from - 1); !ok || n != indent {
			break
		}
		from--
	}
	return from
}
