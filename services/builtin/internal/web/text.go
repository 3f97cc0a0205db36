package web

import (
	"bytes"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// decode makes UTF-8 of a body. markup says that the body itself may name its charset. What cannot be decoded becomes U+FFFD.
func decode(body []byte, contentType string, markup bool) string {
	declared := ""
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		declared = params["charset"]
	}
	enc, name := charset.Lookup(declared)
	// windows-1252 is also what it says when it has found nothing, or has not looked far enough.
	if e, n, _ := charset.DetermineEncoding(body, ""); hasMark(body) || enc == nil && markup && n != "windows-1252" {
		enc, name = e, n
	}
	if xml := xmlEncoding(body); declared == "" && markup && xml != "" && !hasMark(body) {
		enc, name = charset.Lookup(xml)
	}
	switch {
	case enc == nil && utf8.Valid(body), name == "utf-8":
		enc = encoding.Nop
	case enc == nil: // what browsers take an unnamed charset for
		enc, _ = charset.Lookup("windows-1252")
	}
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		out = body
	}
	return strings.ToValidUTF8(string(bytes.TrimPrefix(out, []byte("\uFEFF"))), "\uFFFD")
}

// hasMark says that a body begins with a byte order mark, which beats all that is declared.
func hasMark(b []byte) bool {
	return bytes.HasPrefix(b, []byte("\xEF\xBB\xBF")) || bytes.HasPrefix(b, []byte("\xFE\xFF")) || bytes.HasPrefix(b, []byte("\xFF\xFE"))
}

// xmlEncoding is the encoding of an XML declaration.
func xmlEncoding(b []byte) string {
	b = b[:min(len(b), 200)]
	end := bytes.Index(b, []byte("?>"))
	if !bytes.HasPrefix(b, []byte("<?xml")) || end < 0 {
		return ""
	}
	_, rest, ok := bytes.Cut(b[:end], []byte("encoding="))
	if !ok || len(rest) < 2 {
		return ""
	}
	value, _, _ := bytes.Cut(rest[1:], rest[:1])
	return string(value)
}

// looksBinary says that a body is no text although it is declared as one. UTF-16 is full of zeros, but says so.
func looksBinary(body []byte, h http.Header) bool {
	if hasMark(body) || strings.Contains(strings.ToLower(h.Get("Content-Type")), "utf-16") {
		return false
	}
	return bytes.IndexByte(body[:min(len(body), 8<<10)], 0) >= 0
}

// clean drops what no reader sees and what could mislead one: control characters, marks that change the direction of text,
// and the invisible "tag" characters that spell hidden words.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\uFEFF', r >= 0xE0000 && r <= 0xE0FFF:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.TrimLeft(strings.TrimRightFunc(s, unicode.IsSpace), "\n") // the first line may be indented
}

const maxAfter = 24 * time.Hour // a longer Retry-After is not believed

// retryAfter reads how long to wait: seconds or a date.
func retryAfter(h http.Header) time.Duration {
	var d time.Duration
	after := h.Get("Retry-After")
	if s, err := strconv.ParseUint(after, 10, 32); err == nil {
		d = time.Duration(s) * time.Second
	} else if at, err := http.ParseTime(after); err == nil {
		d = time.Until(at).Round(time.Second)
	}
	if d < 0 || d > maxAfter {
		return 0
	}
	return d
}
