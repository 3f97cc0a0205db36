package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// forTerminal drops what could drive a terminal from a text that others wrote.
func forTerminal(text string) string {
	return strings.Map(func(r rune) rune {
		if drives(r) {
			return -1
		}
		return r
	}, text)
}

// drives says whether a character could drive a terminal: all control characters but line break and tab, and the invisible
// ones that turn the direction of writing.
func drives(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// jsonForTerminal escapes in JSON what could drive a terminal. encoding/json does it for the first 32 characters only.
func jsonForTerminal(line []byte) []byte {
	if !bytes.ContainsFunc(line, drives) {
		return line
	}
	var b bytes.Buffer
	for _, r := range string(line) {
		if drives(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// told is a writer for what a person is told. Each Write holds whole characters.
type told struct{ w io.Writer }

// Write writes what is left of p for a terminal.
func (t told) Write(p []byte) (int, error) {
	if _, err := io.WriteString(t.w, forTerminal(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flat is a text without line breaks.
func flat(text string) string { return strings.Join(strings.Fields(forTerminal(text)), " ") }

// summed is how many characters of a text a line shows.
const summed = 100

// oneLine is a text as a part of a line, white space folded.
func oneLine(text string) string {
	text = flat(text)
	if utf8.RuneCountInString(text) <= summed {
		return text
	}
	r := []rune(text)
	return string(r[:summed-1]) + "…"
}
