package botapi

import "encoding/json"

// The functions here take JSON apart without reading the parts: they go by brackets and quotes. encoding/json refuses a whole
// document for one bad value, and an update that cannot be read must not stop those around it. They do not recurse, and give up
// on lists that are longer than the Bot API's ever are.

const maxItems = 1000

// elements are the values in a JSON array.
func elements(doc []byte) ([]json.RawMessage, bool) {
	var list []json.RawMessage
	ok := walk(doc, '[', ']', func(i int) int {
		end := valueEnd(doc, i)
		if end > i {
			list = append(list, doc[i:end])
		}
		return end
	})
	return list, ok
}

// members are the fields of a JSON object. Of two of one name the last counts, as in encoding/json. Names with escapes are
// left as they are: no field of the Bot API has one.
func members(doc []byte) (map[string]json.RawMessage, bool) {
	fields := map[string]json.RawMessage{}
	ok := walk(doc, '{', '}', func(i int) int {
		if doc[i] != '"' {
			return -1
		}
		end := stringEnd(doc, i)
		if end < 0 {
			return -1
		}
		name := string(doc[i+1 : end-1])
		if i = blank(doc, end); i >= len(doc) || doc[i] != ':' {
			return -1
		}
		if i = blank(doc, i+1); i >= len(doc) {
			return -1
		}
		if end = valueEnd(doc, i); end <= i {
			return -1
		}
		fields[name] = doc[i:end]
		return end
	})
	return fields, ok
}

// walk calls item at the begin of each item of a list in brackets; item gives its end, or less than its begin.
func walk(doc []byte, open, end byte, item func(i int) int) bool {
	i := blank(doc, 0)
	if i >= len(doc) || doc[i] != open {
		return false
	}
	i = blank(doc, i+1)
	if i < len(doc) && doc[i] == end {
		return blank(doc, i+1) == len(doc)
	}
	for n := 0; i < len(doc) && n < maxItems; n++ {
		next := item(i)
		if next <= i {
			return false
		}
		i = blank(doc, next)
		switch {
		case i < len(doc) && doc[i] == end:
			return blank(doc, i+1) == len(doc)
		case i >= len(doc) || doc[i] != ',':
			return false
		}
		i = blank(doc, i+1)
	}
	return false
}

// valueEnd is where the value that begins at i ends; i or -1 when there is none, or it does not end.
func valueEnd(doc []byte, i int) int {
	switch doc[i] {
	case '"':
		return stringEnd(doc, i)
	case '{', '[':
		end, _ := nested(doc, i)
		return end
	default:
		for i < len(doc) && !delimiter(doc[i]) {
			i++
		}
		return i
	}
}

// nested is where the object or array that begins at i ends, or -1, and how deep it goes.
func nested(doc []byte, i int) (end, deepest int) {
	depth := 0
	for i < len(doc) {
		switch doc[i] {
		case '"':
			if i = stringEnd(doc, i); i < 0 {
				return -1, deepest
			}
			continue
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, deepest
			}
		}
		i++
	}
	return -1, deepest
}

func stringEnd(doc []byte, i int) int {
	for i++; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

func blank(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\t' || doc[i] == '\r' || doc[i] == '\n') {
		i++
	}
	return i
}

func delimiter(c byte) bool {
	switch c {
	case ',', ':', '"', '{', '}', '[', ']', ' ', '\t', '\r', '\n':
		return true
	default:
		return false
	}
}
