package oauth

import (
	"slices"
	"strings"
)

const (
	maxScopes     = 100
	maxScopeBytes = 4 << 10
)

// scopes reads a scope parameter (RFC 6749, section 3.3). What cannot be one is left out, and so is what is too much.
func scopes(lists ...string) []string {
	var out []string
	size := 0
	for _, list := range lists {
		for s := range strings.FieldsSeq(list) {
			if !isScope(s) || slices.Contains(out, s) {
				continue
			}
			if size += len(s) + 1; size > maxScopeBytes || len(out) == maxScopes {
				return out
			}
			out = append(out, s)
		}
	}
	return out
}

func isScope(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x21 || c > 0x7e || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
