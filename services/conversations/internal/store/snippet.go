package store

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	snippetBefore = 60 // bytes of the text before the first word that was found
	snippetAfter  = 180
)

// snippet is the place in a text where the first of the wanted tokens is, all of them there in [ ]. The last one may be the
// beginning of a word. FTS5 could do this, too, but takes time that grows with the square of what it finds in a text: minutes for
// a long one that repeats itself.
func snippet(text string, wanted []string) string {
	from, to := 0, min(snippetBefore+snippetAfter, len(text))
	var b strings.Builder
	written, found := 0, false
	for start, end := range tokens(text) {
		if found && start >= to {
			break
		}
		if !isWanted(folded(text[start:end]), wanted) {
			continue
		}
		if !found {
			found = true
			from, to = max(start-snippetBefore, 0), min(max(start+snippetAfter, end), len(text))
			for from > 0 && !utf8.RuneStart(text[from]) {
				from--
			}
			written = from
		}
		b.WriteString(text[written:start] + "[" + text[start:end] + "]")
		written = end
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	b.WriteString(text[written:max(to, written)])
	out := b.String()
	if from > 0 {
		out = "…" + out
	}
	if max(to, written) < len(text) {
		out += "…"
	}
	return out
}

func isWanted(token string, wanted []string) bool {
	for i, w := range wanted {
		if token == w || i == len(wanted)-1 && strings.HasPrefix(token, w) {
			return true
		}
	}
	return false
}

// tokensOf are the tokens of a query.
func tokensOf(query string) []string {
	var list []string
	for start, end := range tokens(query) {
		list = append(list, folded(query[start:end]))
	}
	return list
}

// tokens are the beginnings and ends of what FTS5's unicode61 takes for words: letters and numbers, with the marks on them.
func tokens(text string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		start := -1
		for i, r := range text {
			in := isToken(r) || start >= 0 && unicode.Is(unicode.Mn, r)
			switch {
			case in && start < 0:
				start = i
			case !in && start >= 0:
				if !yield(start, i) {
					return
				}
				start = -1
			}
		}
		if start >= 0 {
			yield(start, len(text))
		}
	}
}

func isToken(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r)
}

// folded is a token without case and marks.
func folded(token string) string {
	token = strings.ToLower(token)
	for i := range len(token) {
		if token[i] >= utf8.RuneSelf {
			return strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Mn, r) {
					return -1
				}
				return r
			}, norm.NFD.String(token))
		}
	}
	return token
}
