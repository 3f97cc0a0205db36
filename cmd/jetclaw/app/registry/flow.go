package registry

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

var errFlow = errors.New("a section in braces is written in a way that cannot be changed here")

// flowItem is one key: value of a section in braces, as offsets in the text.
type flowItem struct {
	start, end int // from the key to the end of the value
	value      int // where the value begins; end when there is none
	key        string
}

// flowItems takes a section in braces apart that begins at text[at], and says where its closing brace is.
func flowItems(text []byte, at int) (items []flowItem, closing int, err error) {
	i := at + 1
	for {
		i = blanks(text, i)
		switch {
		case i >= len(text):
			return nil, 0, errFlow
		case text[i] == '}':
			return items, i, nil
		case text[i] == ',':
			i++
			continue
		}
		item := flowItem{start: i}
		end, err := scalarEnd(text, i)
		if err != nil {
			return nil, 0, err
		}
		if err := yaml.Unmarshal(text[i:end], &item.key); err != nil {
			return nil, 0, errFlow
		}
		item.value, item.end = end, end
		if i = blanks(text, end); i < len(text) && text[i] == ':' {
			i = blanks(text, i+1)
			item.value, item.end = i, i
			if i < len(text) && text[i] != ',' && text[i] != '}' {
				if item.end, err = valueEnd(text, i); err != nil {
					return nil, 0, err
				}
			}
		}
		items = append(items, item)
		i = item.end
	}
}

// valueEnd is where a value ends that begins at i and is a scalar or in braces or brackets, within such.
func valueEnd(text []byte, i int) (int, error) {
	depth := 0
	for i < len(text) {
		switch c := text[i]; {
		case c == '{' || c == '[':
			depth++
			i++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, nil
			}
			i++
		case c == ',' || c == ':' || space(c) || c == '#' && comment(text, i):
			if i = blanks(text, i); i < len(text) && (text[i] == ',' || text[i] == ':') {
				i++
			}
		default:
			end, err := scalarEnd(text, i)
			if err != nil || depth == 0 {
				return end, err
			}
			i = end
		}
	}
	return 0, errFlow
}

// scalarEnd is where a word or a text in quotes ends; a word can go over lines.
func scalarEnd(text []byte, i int) (int, error) {
	if i < len(text) && (text[i] == '"' || text[i] == '\'') {
		return quotedEnd(text, i)
	}
	const marks = ",[]{}"
	end := i
	for at := i; at < len(text); at++ {
		c := text[at]
		if strings.IndexByte(marks, c) >= 0 || c == '#' && comment(text, at) ||
			c == ':' && (at+1 == len(text) || space(text[at+1]) || strings.IndexByte(marks, text[at+1]) >= 0) {
			break
		}
		if !space(c) {
			end = at + 1
		}
	}
	if end == i {
		return 0, errFlow
	}
	return end, nil
}

func quotedEnd(text []byte, i int) (int, error) {
	q := text[i]
	for i++; i < len(text); i++ {
		switch {
		case q == '"' && text[i] == '\\':
			i++
		case text[i] == q && q == '\'' && i+1 < len(text) && text[i+1] == q:
			i++
		case text[i] == q:
			return i + 1, nil
		}
	}
	return 0, errFlow
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// comment says whether a # begins one: it follows a space.
func comment(text []byte, i int) bool { return i == 0 || space(text[i-1]) }

// blanks is the next place at or after i that is neither space nor in a comment.
func blanks(text []byte, i int) int {
	for i < len(text) {
		switch {
		case space(text[i]):
			i++
		case text[i] == '#' && comment(text, i):
			n := bytes.IndexByte(text[i:], '\n')
			if n < 0 {
				return len(text)
			}
			i += n
		default:
			return i
		}
	}
	return i
}

// rewrite is the section in braces that begins at text[at], changed from old to wanted, and where it ended. Keys that are in
// neither stay, and so does the text of what stays the same.
func (f flowStyle) rewrite(text []byte, at int, old, wanted object) (out string, end int, err error) {
	items, closing, err := flowItems(text, at)
	if err != nil {
		return "", 0, err
	}
	var b strings.Builder
	b.WriteByte('{')
	written, lead, between := 0, "", ", "
	for i, item := range items {
		before := string(text[at+1 : item.start])
		if i > 0 {
			before = string(text[items[i-1].end:item.start])
			between = before
		} else if lead = before; strings.Contains(lead, "\n") {
			between = "," + lead
		}
		what := decide(item.key, old, wanted)
		if what == remove {
			continue
		}
		if written == 0 {
			before = lead
		}
		b.WriteString(before)
		body := string(text[item.start:item.end])
		if what == replace {
			if body, err = f.item(text, item, old, wanted); err != nil {
				return "", 0, err
			}
		}
		b.WriteString(body)
		written++
	}
	if !strings.HasPrefix(between, ",") || strings.Contains(between, "#") {
		between = ", "
	}
	tail := at + 1
	if n := len(items); n > 0 {
		tail = items[n-1].end
	}
	for _, e := range added(wanted, func(key string) bool {
		return slices.ContainsFunc(items, func(i flowItem) bool { return i.key == key })
	}) {
		if written > 0 {
			b.WriteString(between)
		} else {
			b.WriteString(lead)
		}
		b.WriteString(f.pair(e))
		written++
	}
	rest := string(text[tail:closing])
	if written == 0 { // a comma that belonged to what is gone
		rest = strings.TrimPrefix(strings.TrimSpace(rest), ",")
	}
	return b.String() + rest + "}", closing + 1, nil
}

func (f flowStyle) item(text []byte, item flowItem, old, wanted object) (string, error) {
	v, _ := wanted.get(item.key)
	section, isSection := v.(object)
	if !isSection || item.value == item.end || text[item.value] != '{' {
		return f.pair(entry{item.key, v}), nil
	}
	was, _ := old.get(item.key)
	before, _ := was.(object)
	inner, _, err := f.rewrite(text, item.value, before, section)
	return string(text[item.start:item.value]) + inner, err
}
