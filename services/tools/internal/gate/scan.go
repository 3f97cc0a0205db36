package gate

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/jetclaw/jetclaw/schemas/secret"
)

// minEncoded is how many characters of base64 are worth decoding.
const minEncoded = 16

// decoded is one form of a text. Noise is what only known secrets are looked for in: bytes that are no text.
type decoded struct {
	text  string
	noise bool
}

// decodings are a text and what it decodes to: as composed and as compatible characters, percent-decoded, and what its pieces
// of base64 hold; all that three times over. Nothing is left out for being too much, or that would be where to hide.
func decodings(text string) []decoded {
	out := []decoded{{text: text}}
	add := func(s string, noise bool) {
		if s != "" && !slices.ContainsFunc(out, func(d decoded) bool { return d.text == s }) {
			out = append(out, decoded{s, noise})
		}
	}
	for round, from := 0, 0; round < 3; round++ {
		upto := len(out)
		for _, d := range out[from:upto] {
			if d.noise {
				continue
			}
			add(norm.NFC.String(d.text), false)
			add(norm.NFKC.String(d.text), false)
			if strings.Contains(d.text, "%") {
				add(percentDecoded(d.text), false)
			}
			texts, noise := unpacked(d.text)
			add(texts, false)
			add(noise, true)
		}
		from = upto
	}
	return out
}

// unpacked is what the pieces of base64 in a text hold, in either alphabet, whatever stands directly before them: those that
// are texts, and the others.
func unpacked(text string) (texts, noise string) {
	var t, n strings.Builder
	for start := 0; start < len(text); {
		if !encoding(text[start]) {
			start++
			continue
		}
		end := start
		for end < len(text) && encoding(text[end]) {
			end++
		}
		piece := alphabet.Replace(text[start:end])
		start = end
		if len(piece) < minEncoded {
			continue
		}
		for shift := range 4 {
			p := piece[shift:]
			p = p[:len(p)/4*4+[]int{0, 0, 2, 3}[len(p)%4]]
			raw, err := base64.RawStdEncoding.DecodeString(p)
			if err != nil { // never: it is all of the alphabet
				continue
			}
			into := &n
			if readable(raw) {
				into = &t
			}
			into.Write(raw)
			into.WriteByte('\n')
		}
	}
	return t.String(), n.String()
}

// alphabet turns that of addresses into the usual one.
var alphabet = strings.NewReplacer("-", "+", "_", "/")

func encoding(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

// readable says whether bytes are mostly text: what is decoded at the wrong place, and images, are not.
func readable(raw []byte) bool {
	odd := 0
	for _, c := range raw {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c >= utf8.RuneSelf {
			odd++
		}
	}
	return odd*4 <= len(raw)
}

// squeezed is a text without spaces and without what does not show: how a secret is taken apart so that nobody sees it.
func squeezed(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || hidden(r) {
			return -1
		}
		return r
	}, norm.NFKC.String(text))
}

// secrets says whether one of the known secrets stands in the texts in whatever form, and what else in them looks like one.
func secrets(texts []string, known secret.Known) (certain bool, kinds []string) {
	for _, t := range texts {
		for _, d := range decodings(t) {
			if known.Contains(d.text) || !d.noise && known.Contains(squeezed(d.text)) {
				return true, nil
			}
			if d.noise {
				continue
			}
			for _, s := range secret.Find(d.text) {
				if !slices.Contains(kinds, s.Kind) {
					kinds = append(kinds, s.Kind)
				}
			}
		}
	}
	return false, kinds
}

// texts are all texts of a call: names and values of its arguments, and its commands without their quotes. Those of the
// arguments are one text, a line each: thousands of short ones would cost more than they are long, and a secret that is cut
// into several of them is found.
func (c *subject) texts() []string {
	var out []string
	seen := map[string]bool{}
	for _, l := range c.leaves {
		if !l.whole {
			out = append(out, l.text)
		}
		if !seen[l.full] {
			seen[l.full] = true
			out = append(out, l.path...)
		}
	}
	all := []string{strings.Join(out, "\n")}
	if c.command != nil {
		for _, p := range c.command.parts {
			all = append(all, strings.ReplaceAll(p.text, string(hole), " "))
		}
	}
	return all
}
