package secret

import (
	"encoding/base64"
	hexadecimal "encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// minKnown is the shortest secret that is looked for; a shorter one is a placeholder, and taking it out would garble texts.
const minKnown = 4

// leastSplit is the shortest secret that is looked for across spaces: shorter ones can be made of words of a sentence.
const leastSplit = 8

// view is a text as somebody may read it. from says where each byte, and the end, stand in the text itself; nil: there.
type view struct {
	text  string
	from  []int
	tight bool // without white space
}

// views are a text as it is, percent-decoded, and without white space: a long line that was broken says the same.
func views(text string) []view {
	all := []view{{text: text}}
	if strings.Contains(text, "%") {
		plain, from := unpercent(text)
		all = append(all, view{text: plain, from: from})
	}
	if plain, from := unspaced(text); len(plain) < len(text) {
		all = append(all, view{text: plain, from: from, tight: true})
	}
	return all
}

func (v view) span(start, end int, kind string) Span {
	if v.from == nil {
		return Span{start, end, kind}
	}
	last := v.from[end]
	if v.tight && end > start {
		last = v.from[end-1] + 1 // not the space behind it
	}
	return Span{v.from[start], last, kind}
}

// Known are secrets that are looked for by their values, in all ways to write them. The zero value knows none.
type Known struct{ list []spelled }

// spelled is a secret as it may be written.
type spelled struct {
	loose []string // in a text as it is
	tight []string // in one without white space; nil for a secret that could be made of words
	cores []string // of it in base64
}

// Compile makes the ways to write secrets, once for many texts.
func Compile(known []string) Known {
	var k Known
	for _, text := range known {
		if len(text) < minKnown {
			continue
		}
		s := spelled{loose: written(text), cores: cores(text)}
		if plain, _ := unspaced(text); len(plain) >= leastSplit {
			s.tight = append([]string{plain}, s.loose[1:]...)
		}
		k.list = append(k.list, s)
	}
	return k
}

// spellings are the places of one known secret in a text that was read in all views: as it is, as in a text of JSON, in
// base64, in hexadecimal digits; percent-encoded in any way; broken into lines.
func (k spelled) spellings(all []view) []Span {
	const kind = "a secret of this installation"
	var found []Span
	for _, v := range all {
		wanted := k.loose
		if v.tight {
			if wanted = k.tight; wanted == nil {
				continue
			}
		}
		for _, w := range wanted {
			each(v.text, w, func(start, end int) { found = append(found, v.span(start, end, kind)) })
		}
		for _, core := range k.cores {
			for at := 0; ; {
				i := strings.Index(v.text[at:], core)
				if i < 0 {
					break
				}
				start := at + i
				at = start + len(core)
				if !v.tight { // there, what stands around it are other words
					// What stands around it holds the rest of the secret's bits, and is of no use without them.
					for start > 0 && encoded[v.text[start-1]] {
						start--
					}
					at = run(v.text, at, encoded)
				}
				found = append(found, v.span(start, at, kind))
			}
		}
	}
	return found
}

// written are the ways to write a secret down letter by letter: the secret itself is the first.
func written(known string) []string {
	out := []string{known, hexadecimal.EncodeToString([]byte(known))}
	out = append(out, strings.ToUpper(out[1]))
	for _, html := range []bool{false, true} {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		if e.Encode(known) == nil {
			text := strings.TrimSuffix(b.String(), "\n")
			out = append(out, text[1:len(text)-1], strings.ReplaceAll(text[1:len(text)-1], "/", `\/`))
		}
	}
	slices.Sort(out[1:])
	return slices.DeleteFunc(slices.Compact(out), func(w string) bool { return w == "" })
}

// unspaced is text without white space.
func unspaced(text string) (plain string, from []int) {
	i := strings.IndexAny(text, " \t\r\n")
	if i < 0 {
		return text, nil
	}
	out := make([]byte, 0, len(text))
	from = make([]int, 0, len(text)+1)
	for i := range len(text) {
		if c := text[i]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			out, from = append(out, c), append(from, i)
		}
	}
	return string(out), append(from, len(text))
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
