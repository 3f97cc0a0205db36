package content

import (
	"regexp"
	"strings"
)

// colours are what programs write to a terminal.
var colours = regexp.MustCompile(`\x1b\[[0-9;:?]*[\x20-\x2f]*[\x40-\x7e]`)

// clean makes a text of a server fit to be shown: valid UTF-8, no control characters but line breaks and tabs.
func clean(s string) string {
	if strings.Contains(s, "\x1b[") {
		s = colours.ReplaceAllString(s, "")
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "�"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r':
			return '\n'
		case r < ' ', r >= 0x7f && r < 0xa0:
			return -1
		}
		return r
	}, s)
}

const maxWord = 500

// word makes a name part of a line.
func word(s string) string {
	if len(s) > 2*maxWord {
		s = s[:2*maxWord]
	}
	s = strings.Join(strings.Fields(clean(s)), " ")
	if len(s) > maxWord {
		s = strings.ToValidUTF8(s[:maxWord], "") + "…"
	}
	return s
}
