package offer

import (
	"strings"
	"unicode/utf8"
)

const (
	maxPattern = 512  // bytes
	maxRepeat  = 1000 // of RE2
)

// everywhere says whether a regular expression means the same in every dialect: it is made of what ECMAScript, RE2 and
// their imitations share. No lookaround, no references back, no named groups, flags or classes of Unicode.
func everywhere(pattern string) bool {
	p := pattern
	if len(p) > maxPattern || !utf8.ValidString(p) {
		return false
	}
	groups := []bool{} // of each open one, whether something in it is counted
	counted := false   // something in the open group, or on the top, is
	last := none       // what may be repeated
	closed := false    // what may be repeated is a group in which something is counted
	for p != "" {
		c := p[0]
		p = p[1:]
		switch c {
		case '(':
			if strings.HasPrefix(p, "?") {
				if p, _ = strings.CutPrefix(p, "?:"); strings.HasPrefix(p, "?") {
					return false
				}
			}
			groups, counted, last = append(groups, counted), false, none
		case ')':
			if len(groups) == 0 {
				return false
			}
			closed = counted
			counted = counted || groups[len(groups)-1]
			groups, last = groups[:len(groups)-1], atom
		case '[':
			rest, ok := class(p)
			if !ok {
				return false
			}
			p, last, closed = rest, atom, false
		case '*', '+', '?', '{':
			if last != atom {
				return false
			}
			if c == '{' {
				rest, ok := count(p)
				if !ok || closed {
					return false
				}
				p, counted = rest, true
			}
			p, _ = strings.CutPrefix(p, "?") // as few as possible
			last = none
		case '|', '^', '$':
			last = none
		case '\\':
			if p == "" {
				return false
			}
			if strings.IndexByte("bB", p[0]) >= 0 {
				last = none
			} else if last, closed = atom, false; !escape(p[0]) {
				return false
			}
			p = p[1:]
		case '}', ']':
			return false
		default:
			_, size := utf8.DecodeRuneInString(pattern[len(pattern)-len(p)-1:])
			p, last, closed = p[size-1:], atom, false
		}
	}
	return len(groups) == 0
}

const (
	none = iota
	atom
)

// escape says whether a backslash may stand before c.
func escape(c byte) bool { return strings.IndexByte(`dDwWsStnrfv.^$|?*+()[]{}\/-`, c) >= 0 }

// class reads what is behind [, up to ].
func class(p string) (rest string, ok bool) {
	p, _ = strings.CutPrefix(p, "^")
	for first := true; ; first = false {
		before := rune(-1) // what a range can begin with
		r, size := utf8.DecodeRuneInString(p)
		switch {
		case size == 0 || r == '[':
			return "", false
		case r == ']':
			return p[1:], !first
		case r == '\\' && (len(p) < 2 || !escape(p[1])):
			return "", false
		case r == '\\':
			if strings.IndexByte("dDwWsStnrfv", p[1]) < 0 {
				before = rune(p[1])
			}
			p = p[2:]
		default:
			before, p = r, p[size:]
		}
		if !strings.HasPrefix(p, "-") || strings.HasPrefix(p, "-]") {
			continue
		}
		to, size := utf8.DecodeRuneInString(p[1:])
		if size == 0 || to == '\\' || to == '[' || before < 0 || to < before {
			return "", false
		}
		p = p[1+size:]
	}
}

// count reads what is behind {, up to }.
func count(p string) (rest string, ok bool) {
	body, rest, found := strings.Cut(p, "}")
	from, to, isRange := strings.Cut(body, ",")
	low, okLow := repeat(from)
	high, okHigh := repeat(to)
	switch {
	case !found || !okLow:
		return "", false
	case !isRange || to == "":
		return rest, true
	}
	return rest, okHigh && low <= high
}

func repeat(s string) (n int, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > maxRepeat {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, s != "" && n <= maxRepeat
}
