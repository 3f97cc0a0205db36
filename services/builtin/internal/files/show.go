package files

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mark is what some editors begin UTF-8 with. It is no part of the text.
const mark = "\ufeff"

// show is a name as it may stand in a line of text: quoted when it could be taken for something else.
func show(name string) string {
	plain := utf8.ValidString(name) && name == strings.TrimSpace(name) && name != "" &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) || r == utf8.RuneError })
	if plain {
		return name
	}
	return strconv.QuoteToGraphic(name)
}

// kindOf names what bytes are, by their beginning.
func kindOf(head []byte) string { return http.DetectContentType(head) }

// isText says whether data is text that a model can be shown.
func isText(data []byte) bool { return bytes.IndexByte(data, 0) < 0 && utf8.Valid(data) }

// wholeRunes is data without the beginning of a character at its end.
func wholeRunes(data []byte) []byte {
	for i := len(data) - 1; i >= 0 && i >= len(data)-utf8.UTFMax; i-- {
		if utf8.RuneStart(data[i]) {
			if !utf8.FullRune(data[i:]) {
				return data[:i]
			}
			break
		}
	}
	return data
}
