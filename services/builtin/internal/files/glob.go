package files

import (
	"errors"
	"regexp"
	"strings"
)

// glob is a test of paths: * is any text within a name, ** any folders, ? a character, [abc] one of these, {a,b} a or b. A
// pattern without a slash is about the name alone.
func glob(pattern string) (func(path string) bool, error) {
	if len(pattern) > maxPattern {
		return nil, errors.New("it is too long")
	}
	var b strings.Builder
	b.WriteString(`^`)
	if !strings.Contains(pattern, "/") {
		b.WriteString(`(?:.*/)?`)
	}
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	alternatives := 0
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString(`(?:.*/)?`)
			i += 2
		case strings.HasPrefix(rest, "**"):
			b.WriteString(`.*`)
			i++
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[':
			end := strings.IndexByte(rest[1:], ']')
			if end < 1 {
				return nil, errors.New("a [ has no ]")
			}
			b.WriteString(class(rest[1 : end+1]))
			i += end + 1
		case c == '{':
			alternatives++
			b.WriteString(`(?:`)
		case c == '}' && alternatives > 0:
			alternatives--
			b.WriteString(`)`)
		case c == ',' && alternatives > 0:
			b.WriteString(`|`)
		case c >= 0x80: // part of a character
			b.WriteByte(c)
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	if alternatives > 0 {
		return nil, errors.New("a { has no }")
	}
	re, err := regexp.Compile(`(?s)` + b.String() + `$`)
	if err != nil {
		return nil, errors.New("it is none")
	}
	return re.MatchString, nil
}

// class is what stands between brackets, as a regular expression.
func class(in string) string {
	no := ""
	if in[0] == '!' || in[0] == '^' {
		no, in = "^", in[1:]
	}
	return `[` + no + strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(in) + `]`
}
