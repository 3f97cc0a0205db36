package format

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// border says how good a place is for a cut. More is better.
type border int

const (
	inWord   border = iota
	atSpace         // or after a mark that ends a sentence where words have no spaces between them
	inCode          // between lines of code that belong together
	codePart        // between lines of code, the next of which is not indented
	atLine
	atBlock
	borders // how many there are
)

// cut chooses where a part ends that can go up to a byte.
func (s *splitter) cut(stop int) int {
	// With the character after it, so that it is known whether a cluster ends there.
	_, after := utf8.DecodeRuneInString(s.text[stop:])
	clusters := displaywidth.StringGraphemes(s.text[s.at : stop+after])
	blocks := s.blocks()
	half := Units(s.text[s.at:stop]) / 2
	var late [borders]int // the last of each kind in the second half
	early, last := 0, 0   // the last in the first half that is no word's inside; the last of all
	for pos, units := s.at, 0; clusters.Next() && pos <= stop; {
		if pos > s.at {
			last = pos
			b := s.border(pos, s.unit+units, blocks)
			if units >= half {
				late[b] = pos
			} else if b > inWord {
				early = pos
			}
		}
		pos += len(clusters.Value())
		units += Units(clusters.Value())
	}
	for b := borders - 1; b > inWord; b-- {
		if late[b] > 0 {
			return late[b]
		}
	}
	switch {
	case early > 0:
		return early
	case last > 0:
		return last
	}
	return stop
}

// blocks finds the entities that have lines of their own in what the next part may hold.
func (s *splitter) blocks() (out []Entity) {
	block := func(e Entity) {
		if e.Type == pre || e.Type == blockquote {
			out = append(out, e)
		}
	}
	for _, e := range s.open {
		block(e)
	}
	for _, e := range s.entities {
		if e.Offset > s.unit+s.limit {
			break
		}
		block(e)
	}
	return out
}

// border says what there is before a byte of the text, which is also given in code units.
func (s *splitter) border(pos, unit int, blocks []Entity) border {
	before := s.text[s.at:pos]
	if !strings.HasSuffix(before, "\n") {
		r, _ := utf8.DecodeLastRuneInString(before)
		if unicode.IsSpace(r) || strings.ContainsRune("。！？，、；：」』）", r) {
			return atSpace
		}
		return inWord
	}
	for _, e := range blocks {
		end := e.Offset + e.Length
		switch {
		case unit == e.Offset || unit == end+1:
			return atBlock
		case e.Type != pre || unit < e.Offset || unit > end:
		case strings.HasPrefix(s.text[pos:], " ") || strings.HasPrefix(s.text[pos:], "\n"):
			return inCode
		default:
			return codePart
		}
	}
	if strings.HasSuffix(strings.TrimRight(before[:len(before)-1], " \t"), "\n") {
		return atBlock
	}
	return atLine
}
