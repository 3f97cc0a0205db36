package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

// Text is a JSON string whose bytes may be no UTF-8, or that escapes half a character. encoding/json would replace those
// silently; they are kept, for the gate to refuse.
type Text string

var errTwice = errors.New("a field is given twice: nobody can say which is meant")

// UnmarshalJSON reads a JSON string, once: encoding/json would take the last of several.
func (t *Text) UnmarshalJSON(b []byte) error {
	if *t != "" {
		return errTwice
	}
	b = keepHalves(b)
	if len(b) >= 2 && b[0] == '"' && !utf8.Valid(b) {
		*t = Text(b[1 : len(b)-1])
		return nil
	}
	return json.Unmarshal(b, (*string)(t))
}

// keepHalves writes the first escape of half a surrogate pair, which is no character, as bytes that are no UTF-8. b is a
// JSON value.
func keepHalves(b []byte) []byte {
	const escape, half = 6, "\xed\xa0\x80" // \uXXXX; what UTF-8 would make of U+D800 if it could
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		switch r := escaped(b[i:]); {
		case !utf16.IsSurrogate(r):
			i++ // past what is escaped
		case utf16.DecodeRune(r, escaped(b[i+escape:])) != utf8.RuneError:
			i += 2*escape - 1
		default:
			return slices.Concat(b[:i], []byte(half), b[i+escape:])
		}
	}
	return b
}

// escaped is the code unit of the \uXXXX that b begins with; -1 when it begins otherwise.
func escaped(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// Decode reads one JSON object into v. Errors are fault.Invalid and say which field is wrong.
func Decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	var (
		syntax *json.SyntaxError
		typ    *json.UnmarshalTypeError
	)
	switch {
	case err == nil:
		if d.More() || hasMore(d) {
			return fault.New(fault.Invalid, "the body goes on after the JSON object")
		}
		return nil
	case errors.Is(err, io.EOF):
		return fault.New(fault.Invalid, "the body is empty: send a JSON object")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.New(fault.Invalid, "the JSON ends too early")
	case errors.As(err, &syntax):
		return fault.New(fault.Invalid, "the body is not JSON: %s at byte %d", syntax.Error(), syntax.Offset)
	case errors.As(err, &typ) && typ.Field != "":
		return fault.New(fault.Invalid, "field %q is a %s, want a %s", typ.Field, typ.Value, typ.Type)
	case errors.As(err, &typ):
		return fault.New(fault.Invalid, "the body is a JSON %s, want an object", typ.Value)
	}
	return fault.New(fault.Invalid, "%s", strings.TrimPrefix(err.Error(), "json: ")) // unknown field "x"
}

func hasMore(d *json.Decoder) bool {
	_, err := d.Token()
	return !errors.Is(err, io.EOF)
}
