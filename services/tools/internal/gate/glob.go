package gate

import (
	"strings"
	"unicode/utf8"
)

// hole stands in a text for what is known only when it runs: any text at all, also none. No argument can hold it: commands
// cannot have NUL, and other texts are matched without holes.
const hole = '\x00'

// glob says whether pattern matches the whole of text. `*` is any text, with slashes and line feeds, `?` one character. A
// hole is matched by `*` only: then the pattern matches whatever the hole becomes.
func glob(pattern, text string) bool {
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		r, n := utf8.DecodeRuneInString(text[t:])
		if p < len(pattern) {
			q, m := utf8.DecodeRuneInString(pattern[p:])
			switch {
			case q == '*':
				star, mark = p, t
				p++
				continue
			case q == '?' && r != hole || q != '?' && text[t:t+n] == pattern[p:p+m]:
				p, t = p+m, t+n
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, skip := utf8.DecodeRuneInString(text[mark:])
		mark += skip
		p, t = star+1, mark
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// maxCells bounds the work of maybe. Above it the answer is that it may be.
const maxCells = 4 << 20

// maybe says whether a text with holes can become one that pattern matches.
func maybe(pattern, text string) bool {
	if !strings.ContainsRune(text, hole) {
		return glob(pattern, text)
	}
	ps, ts := []rune(pattern), []rune(text)
	if len(ps)*len(ts) > maxCells {
		return true
	}
	// row[j]: what was read of the pattern can be made equal to the first j of the text.
	row := make([]bool, len(ts)+1)
	row[0] = true
	for j, r := range ts {
		row[j+1] = row[j] && r == hole
	}
	for _, q := range ps {
		next := make([]bool, len(ts)+1)
		next[0] = row[0] && q == '*'
		for j, r := range ts {
			switch {
			case q == '*':
				next[j+1] = row[j+1] || next[j]
			case r == hole:
				next[j+1] = next[j] || row[j+1] // the hole is empty, or has one more character
			default:
				next[j+1] = row[j] && (q == '?' || q == r)
			}
		}
		row = next
	}
	return row[len(ts)]
}
