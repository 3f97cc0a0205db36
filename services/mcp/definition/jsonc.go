package definition

import "bytes"

// plainJSON is JSON without the comments and trailing commas that editors allow in their files, and without a byte order mark.
// Every byte that stays keeps its place.
func plainJSON(data []byte) []byte {
	out := bytes.Clone(bytes.TrimPrefix(data, []byte("\uFEFF")))
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	comma := -1 // the last one, while nothing but space has followed
	for i := 0; i < len(out); {
		switch c := out[i]; {
		case c == '"':
			i = afterString(out, i)
			comma = -1
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			end := len(out)
			if n := bytes.IndexByte(out[i:], '\n'); n >= 0 {
				end = i + n
			}
			blank(i, end)
			i = end
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			end := len(out)
			if n := bytes.Index(out[i+2:], []byte("*/")); n >= 0 {
				end = i + 2 + n + 2
			}
			blank(i, end)
			i = end
		case c == ',':
			comma = i
			i++
		case (c == '}' || c == ']') && comma >= 0:
			out[comma] = ' '
			comma = -1
			i++
		default:
			if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
				comma = -1
			}
			i++
		}
	}
	return out
}

// afterString is the place behind the string that begins at i.
func afterString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}
