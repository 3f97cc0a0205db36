package definition

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// sorted puts parts of a text into their order and joins those that overlap.
func sorted(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.start < out[n-1].end {
			out[n-1].end = max(out[n-1].end, s.end)
			continue
		}
		out = append(out, s)
	}
	return out
}

// withoutReferences cuts ${NAME} out of parts of a text, and drops what is no secret then: what stands between, such as a colon.
func withoutReferences(text string, spans []span) []span {
	parts, err := pieces(text)
	if err != nil { // it cannot be used, but it can be shown
		return spans
	}
	var out []span
	for _, s := range spans {
		for _, p := range parts {
			cut := span{max(s.start, p.start), min(s.end, p.end)}
			if p.variable != "" || cut.start >= cut.end {
				continue
			}
			if n := len(out); n > 0 && out[n-1].end == cut.start && out[n-1].start >= s.start {
				out[n-1].end = cut.end // $$ within a secret
				continue
			}
			out = append(out, cut)
		}
	}
	if !slices.ContainsFunc(parts, func(p piece) bool { return p.variable != "" }) {
		return out
	}
	return slices.DeleteFunc(out, func(s span) bool { return !word(text[s.start:s.end]) })
}

// word says whether a text has a letter or a digit.
func word(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}
