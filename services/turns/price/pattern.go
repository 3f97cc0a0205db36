package price

import "strings"

// matches says whether a pattern stands for a name.
func matches(pattern, name string) bool {
	if strings.Contains(pattern, "*") {
		return glob(pattern, name)
	}
	rest, ok := strings.CutPrefix(name, pattern)
	return ok && (rest == "" || issue(rest))
}

// before says whether pattern a is more specific than b: a name before one with a *, then the longer one.
func before(a, b string) bool {
	if x, y := strings.Contains(a, "*"), strings.Contains(b, "*"); x != y {
		return y
	}
	return len(a) > len(b)
}

// issue says whether a suffix only tells which issue of a model is meant.
func issue(suffix string) bool {
	return suffix == "-latest" || shaped(suffix, "-00000000") || shaped(suffix, "@00000000") || shaped(suffix, "-0000-00-00")
}

// shaped says whether s has digits where the form has 0, and is the form everywhere else.
func shaped(s, form string) bool {
	if len(s) != len(form) {
		return false
	}
	for i := range len(s) {
		if digit := s[i] >= '0' && s[i] <= '9'; form[i] == '0' && !digit || form[i] != '0' && s[i] != form[i] {
			return false
		}
	}
	return true
}

// glob matches with * for any characters, '/' included. It takes the first place for each part, which is enough as there
// is no other wildcard.
func glob(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, ok := strings.Cut(name, part)
		if !ok {
			return false
		}
		name = after
	}
	return strings.HasSuffix(name, last)
}
