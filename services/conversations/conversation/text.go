package conversation

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

// title is the first line of a message that says something, else what its first file is.
func title(text string, files []messagev1.File) string {
	for line := range strings.Lines(text) {
		line = strings.TrimFunc(line, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
		if line != "" {
			return runes(line, titleRunes)
		}
	}
	if len(files) > 0 {
		return runes(cmp.Or(files[0].Name, string(files[0].Kind)), titleRunes)
	}
	return ""
}

// runes is the beginning of a text. That something is left out shows in its last rune.
func runes(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	n := 0
	for i := range text {
		if n++; n == most {
			return text[:i] + "…"
		}
	}
	return text
}

// cut is the beginning of a text, at most some bytes, without a broken rune at its end.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	most = max(most, 0)
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Shortened is the message with at most some bytes of its text.
func (m Message) Shortened(most int) Message {
	short := cut(m.Text, most)
	m.Cut += len(m.Text) - len(short)
	m.Text = short
	return m
}
