// Package canonical writes JSON in its one canonical form (RFC 8785), so that what two readers take for the same has the
// same bytes, and one digest. It is stricter than a reader of JSON: a key that stands twice in an object is an error, as
// two programs may each believe another of the values.
//
// One deviation: RFC 8785 rounds every number to a double. An integer that a double cannot hold is kept digit by digit
// here: what a person approves must be what runs.
package canonical

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds nesting.
const maxDepth = 200

// JSON is the canonical form of one JSON value. Errors name the place: no JSON, more than one value, invalid UTF-8, a
// duplicate key, a number without a finite value, nested too deep.
func JSON(raw []byte) ([]byte, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	out, err := value(d, nil, 0)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind the value")
	}
	return out, nil
}

// Digest is the SHA-256 of data, in hexadecimal digits.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func value(d *json.Decoder, out []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return object(d, out, depth)
		}
		return array(d, out, depth)
	case string:
		return text(out, t), nil
	case json.Number:
		return number(out, t)
	case bool:
		return strconv.AppendBool(out, t), nil
	}
	return append(out, "null"...), nil
}

func array(d *json.Decoder, out []byte, depth int) (_ []byte, err error) {
	out = append(out, '[')
	for n := 0; d.More(); n++ {
		if n > 0 {
			out = append(out, ',')
		}
		if out, err = value(d, out, depth+1); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	return append(out, ']'), nil
}

type member struct {
	name  string
	units []uint16 // the order of RFC 8785 is that of UTF-16 code units
	value []byte
}

func object(d *json.Decoder, out []byte, depth int) ([]byte, error) {
	var members []member
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		v, err := value(d, nil, depth+1)
		if err != nil {
			return nil, err
		}
		members = append(members, member{name, utf16.Encode([]rune(name)), v})
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	slices.SortFunc(members, func(a, b member) int { return slices.Compare(a.units, b.units) })
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			if members[i-1].name == m.name {
				return nil, fmt.Errorf("the key %.40q stands twice in one object", m.name)
			}
			out = append(out, ',')
		}
		out = append(text(out, m.name), ':')
		out = append(out, m.value...)
	}
	return append(out, '}'), nil
}

const hexDigits = "0123456789abcdef"

func text(out []byte, s string) []byte {
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\b':
			out = append(out, '\\', 'b')
		case r == '\f':
			out = append(out, '\\', 'f')
		case r == '\n':
			out = append(out, '\\', 'n')
		case r == '\r':
			out = append(out, '\\', 'r')
		case r == '\t':
			out = append(out, '\\', 't')
		case r < ' ':
			out = append(out, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, '"')
}

// number follows ECMAScript's Number::toString, as RFC 8785 3.2.2.3 asks.
func number(out []byte, n json.Number) ([]byte, error) {
	f, err := n.Float64()
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, fmt.Errorf("the number %.40s has no finite value", n)
	}
	if whole := n.String(); !strings.ContainsAny(whole, ".eE") && strconv.FormatFloat(f, 'f', -1, 64) != whole {
		if whole == "-0" {
			return append(out, '0'), nil
		}
		return append(out, whole...), nil
	}
	if f == 0 {
		return append(out, '0'), nil
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(out, f, 'f', -1, 64), nil
	}
	short := strconv.FormatFloat(f, 'e', -1, 64) // "1e-07", "1e+21"
	mantissa, exponent, _ := strings.Cut(short, "e")
	sign, digits := exponent[:1], strings.TrimLeft(exponent[1:], "0")
	return append(out, mantissa+"e"+sign+digits...), nil
}
