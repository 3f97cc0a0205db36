package openai

import (
	"strings"
	"unicode"
)

// filter passes a text on, piece by piece, without the key and without control characters other than tab and line feed:
// those mean nothing in an answer and can drive the terminal that shows it. What may be the beginning of the key is held
// back until the next piece.
type filter struct {
	secret scrub
	held   string
}

func (f *filter) pass(text string) string {
	text = f.secret.blot(f.held + strings.Map(printed, text))
	keep := f.secret.begun(text)
	f.held = text[len(text)-keep:]
	return text[:len(text)-keep]
}

// rest is what was held back, at the end.
func (f *filter) rest() string {
	text := f.held
	f.held = ""
	return text
}

func printed(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}

// begun is the length of the beginning of the key with which a text ends.
func (s scrub) begun(text string) int {
	if len(s) < minKey {
		return 0
	}
	for n := min(len(s)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, string(s[:n])) {
			return n
		}
	}
	return 0
}
