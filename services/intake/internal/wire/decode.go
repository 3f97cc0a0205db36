package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

// Text is a JSON string whose bytes may be no UTF-8. encoding/json would replace those silently; they are kept, for the
// gate to refuse.
type Text string

// UnmarshalJSON reads a JSON string.
func (t *Text) UnmarshalJSON(b []byte) error {
	if len(b) >= 2 && b[0] == '"' && !utf8.Valid(b) {
		*t = Text(b[1 : len(b)-1])
		return nil
	}
	return json.Unmarshal(b, (*string)(t))
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
