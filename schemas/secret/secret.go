// Package secret finds what looks like a secret in a text, and takes it out.
//
// It goes by form: prefixes that issuers have chosen, blocks of keys, and the places where secrets stand (the password of an
// address, an Authorization header, an assignment to a name such as API_KEY). It promises linear time, spans that do not
// overlap, and few false alarms: hashes, UUIDs, images in base64 and placeholders are not found. A secret without any form
// is found only by those who know it: see Redact and Contains.
package secret

import (
	"cmp"
	"slices"
	"strings"
)

// Span is one find: bytes Start to End of the text, and in plain words what they look like ("a GitHub token").
type Span struct {
	Start, End int
	Kind       string
}

// Removed stands where Redact has taken something out.
const Removed = "[secret removed]"

// Find is everything in a text that looks like a secret, in its order. Spans do not overlap.
func Find(text string) []Span {
	var found []Span
	add := func(start, end int, kind string) { found = append(found, Span{start, end, kind}) }
	for _, p := range prefixes {
		byPrefix(text, p, add)
	}
	tokens(text, add)
	blocks(text, add)
	passwords(text, add)
	bots(text, add)
	assigned(text, add)
	return merged(found)
}

// Redact is text without what looks like a secret, and without the known ones in any spelling that Contains sees.
func (k Known) Redact(text string) string {
	// Taking one thing out can show another to be one (what stood before a key was a letter, and is a bracket now).
	for range 3 {
		found := Find(text)
		if len(k.list) > 0 {
			all := views(text)
			for _, s := range k.list {
				found = append(found, s.spellings(all)...)
			}
		}
		if len(found) == 0 {
			return text
		}
		text = without(text, merged(found))
	}
	return text
}

// Contains says whether one of the known secrets stands in text: as it is, percent-encoded in any way, as in JSON, in base64
// or hexadecimal digits, or broken into lines.
func (k Known) Contains(text string) bool {
	if len(k.list) == 0 {
		return false
	}
	all := views(text)
	return slices.ContainsFunc(k.list, func(s spelled) bool { return len(s.spellings(all)) > 0 })
}

func without(text string, found []Span) string {
	var b strings.Builder
	at := 0
	for _, s := range found {
		b.WriteString(text[at:s.Start])
		b.WriteString(Removed)
		at = s.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// merged sorts spans and joins those that overlap.
func merged(found []Span) []Span {
	slices.SortFunc(found, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), strings.Compare(a.Kind, b.Kind))
	})
	out := found[:0]
	for _, s := range found {
		if n := len(out); n > 0 && s.Start < out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}
