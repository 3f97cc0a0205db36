package secret

import (
	"encoding/base64"
	"strings"
)

// minKnown is the shortest secret that is looked for; a shorter one is a placeholder, and taking it out would garble texts.
const minKnown = 4

// spellings are the places of one known secret in text: as it is, percent-encoded in any way, in base64.
func spellings(text, known string) []Span {
	if len(known) < minKnown {
		return nil
	}
	const kind = "a secret of this installation"
	var found []Span
	each(text, known, func(start, end int) { found = append(found, Span{start, end, kind}) })
	if strings.Contains(text, "%") {
		plain, from := unpercent(text)
		each(plain, known, func(start, end int) { found = append(found, Span{from[start], from[end], kind}) })
	}
	for _, core := range cores(known) {
		for at := 0; ; {
			i := strings.Index(text[at:], core)
			if i < 0 {
				break
			}
			// What stands around it holds the rest of the secret's bits, and is of no use without them.
			start := at + i
			for start > at && encoded[text[start-1]] {
				start--
			}
			at = run(text, at+i+len(core), encoded)
			found = append(found, Span{start, at, kind})
		}
	}
	return found
}

var encoded = class("0-9A-Za-z+/_=-")

// each calls do for each place of part, from left to right and without overlaps.
func each(text, part string, do func(start, end int)) {
	for at := 0; ; {
		i := strings.Index(text[at:], part)
		if i < 0 {
			return
		}
		do(at+i, at+i+len(part))
		at += i + len(part)
	}
}

// unpercent decodes %XX once. from says where each byte, and the end, stood.
func unpercent(text string) (plain string, from []int) {
	out := make([]byte, 0, len(text))
	from = make([]int, 0, len(text)+1)
	for i := 0; i < len(text); i++ {
		from = append(from, i)
		if text[i] == '%' && i+2 < len(text) {
			high, low := hex(text[i+1]), hex(text[i+2])
			if high >= 0 && low >= 0 {
				out = append(out, byte(high<<4|low))
				i += 2
				continue
			}
		}
		out = append(out, text[i])
	}
	return string(out), append(from, len(text))
}

func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// cores are the characters that base64 has for a secret whatever stands around it, for each of the three places at which
// it can begin, in both alphabets.
func cores(known string) []string {
	var out []string
	for shift := range 3 {
		all := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), known...))
		core := all[(8*shift+5)/6 : 8*(shift+len(known))/6]
		out = append(out, core)
		if other := strings.NewReplacer("+", "-", "/", "_").Replace(core); other != core {
			out = append(out, other)
		}
	}
	return out
}
