package cli

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// forTerminal drops what could drive a terminal from a text that others wrote: all control characters but line break and
// tab, and the invisible ones that turn the direction of writing.
func forTerminal(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, text)
}

// summed is how many characters of a text a line shows.
const summed = 100

// oneLine is a text as a part of a line, white space folded.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(forTerminal(text)), " ")
	if utf8.RuneCountInString(text) <= summed {
		return text
	}
	r := []rune(text)
	return string(r[:summed-1]) + "…"
}
