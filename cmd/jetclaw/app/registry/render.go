package registry

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// maxLine is how long a line with a list may become before the list gets a line for each entry, in bytes.
const maxLine = 120

// flowStyle writes values in one line: {a: b, c: [d]}.
type flowStyle struct {
	quoteKeys bool // as JSON wants it, and the values too
}

func (f flowStyle) value(v any) string {
	switch v := v.(type) {
	case object:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = f.pair(e)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []string:
		parts := make([]string, len(v))
		for i, text := range v {
			parts[i] = f.text(text)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return f.text(v)
	case bool:
		if v {
			return "true"
		}
		return "false"
	case json.Number:
		return v.String()
	}
	return "null"
}

func (f flowStyle) pair(e entry) string { return f.text(e.key) + ": " + f.value(e.value) }

func (f flowStyle) text(text string) string {
	if !f.quoteKeys && plain(text) {
		return text
	}
	return quote(text)
}

// quote is a text in double quotes. JSON's escapes are YAML's.
func quote(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(err) // a text
	}
	out := strings.TrimSuffix(b.String(), "\n")
	for _, r := range []rune{0x7f, 0x85, 0xa0, 0xfeff} { // YAML breaks lines at one of them, and does not print the others
		out = strings.ReplaceAll(out, string(r), `\u`+hex4(r))
	}
	return out
}

func hex4(r rune) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15]})
}

// plain says whether a text needs no quotes anywhere: a word or a path that is not read as anything else.
func plain(text string) bool {
	if text == "" {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '/':
		case i > 0 && (c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == '@'):
		case i == 0 && c == '.' && (strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../")):
		default:
			return false
		}
	}
	return !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}, strings.ToLower(text))
}

// blockStyle writes values over lines.
type blockStyle struct {
	step    int    // spaces of one level
	newline string // of the file
}

// pair is a key with its value; every line begins with indent spaces and ends with a newline.
func (b blockStyle) pair(e entry, indent int) string {
	flow := flowStyle{}
	head := strings.Repeat(" ", indent) + flow.text(e.key) + ":"
	return head + b.value(e.value, indent, len(head))
}

// value is what follows the colon of a key, up to and with the end of its last line. column is where the colon is.
func (b blockStyle) value(v any, indent, column int) string {
	flow := flowStyle{}
	switch v := v.(type) {
	case object:
		if len(v) == 0 {
			return " {}" + b.newline
		}
		var out strings.Builder
		for _, e := range v {
			out.WriteString(b.pair(e, indent+b.step))
		}
		return b.newline + out.String()
	case []string:
		line := " " + flow.value(v)
		if len(v) == 0 || column+len(line) <= maxLine {
			return line + b.newline
		}
		var out strings.Builder
		for _, text := range v {
			out.WriteString(strings.Repeat(" ", indent+b.step) + "- " + flow.text(text) + b.newline)
		}
		return b.newline + out.String()
	}
	return " " + flow.value(v) + b.newline
}
