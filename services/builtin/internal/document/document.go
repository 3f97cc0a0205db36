// Package document finds the text in a file that somebody has sent. It goes by the bytes, never by a name or by what a sender
// calls them. It promises valid UTF-8 without NUL and of a bounded length, and changes nothing of the text but its encoding.
package document

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxText is how much of a text is read, in bytes. Each page of it costs a search of all of it for secrets.
const MaxText = 4 << 20

// Why there is no text.
var (
	ErrNoText   = errors.New("no text")
	ErrEncoding = errors.New("a text that is neither UTF-8 nor UTF-16 with a mark")
)

// Document is the text of a file.
type Document struct {
	Text string
	Left int // bytes of the file behind Text
}

// Marks that say how a text is encoded. They are no part of it.
const (
	mark8  = "\xef\xbb\xbf"
	markLE = "\xff\xfe"
	markBE = "\xfe\xff"
)

// Read gives the text of a file: UTF-8, or UTF-16 with a mark. Errors: ErrNoText, ErrEncoding.
func Read(data []byte) (Document, error) {
	switch {
	case bytes.HasPrefix(data, []byte(markLE)):
		return wide(data[len(markLE):], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte(markBE)):
		return wide(data[len(markBE):], binary.BigEndian)
	case bytes.HasPrefix(data, []byte("%PDF-")): // one without pictures can pass for text, and nobody can read it
		return Document{}, ErrNoText
	}
	data = bytes.TrimPrefix(data, []byte(mark8))
	switch {
	case bytes.IndexByte(data, 0) >= 0:
		return Document{}, ErrNoText
	case utf8.Valid(data):
		end := border(data)
		return Document{Text: string(data[:end]), Left: len(data) - end}, nil
	case strings.HasPrefix(http.DetectContentType(data), "text/"): // it finds no bytes that texts do not have
		return Document{}, ErrEncoding
	}
	return Document{}, ErrNoText
}

// wide decodes UTF-16, no more of it than is shown.
func wide(data []byte, order binary.ByteOrder) (Document, error) {
	if len(data)%2 != 0 {
		return Document{}, ErrNoText
	}
	text := make([]byte, 0, min(len(data)*3/2, MaxText+utf8.UTFMax))
	at := 0
	for at < len(data) && len(text) <= MaxText {
		r, size := rune(order.Uint16(data[at:])), 2
		if utf16.IsSurrogate(r) {
			if at+2 < len(data) {
				r, size = utf16.DecodeRune(r, rune(order.Uint16(data[at+2:]))), 4
			} else {
				r = utf8.RuneError
			}
			if r == utf8.RuneError { // no text has half a pair
				return Document{}, ErrNoText
			}
		}
		if r == 0 {
			return Document{}, ErrNoText
		}
		text, at = utf8.AppendRune(text, r), at+size
	}
	left := len(data) - at
	if end := border(text); end < len(text) {
		text, left = text[:end], left+len(utf16.Encode([]rune(string(text[end:]))))*2
	}
	return Document{Text: string(text), Left: left}, nil
}

// border is where a text ends that may have MaxText bytes: behind a line, so that no secret is divided, or else behind a
// character.
func border(text []byte) int {
	if len(text) <= MaxText {
		return len(text)
	}
	if line := bytes.LastIndexByte(text[:MaxText], '\n'); line >= 0 {
		return line + 1
	}
	end := MaxText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}
