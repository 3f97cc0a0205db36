package gate

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", true},
		{"", "", true},
		{"", "a", false},
		{"?", "é", true},
		{"?", "ab", false},
		{"a*c", "abc", true},
		{"a*c", "ac/b\nc", true},
		{"a*c", "acb", false},
		{"**a**", "xax", true},
		{"git *", "git", false},
		{"git *", "git log", true},
		{"Git *", "git log", false},
		{"?", "\x00", false},
		{"a*", "a\x00", true},
		{"a\x00", "a\x00", true},
		{"[a]", "a", false},
		{"*.md", "a/b.md", true},
		{"\xff", "\xff", true},
	} {
		if got := glob(c.pattern, c.text); got != c.want {
			t.Errorf("glob(%q, %q) = %t", c.pattern, c.text, got)
		}
	}
}

// slow is what a glob means, written down.
func slow(p, t string) bool {
	if p == "" {
		return t == ""
	}
	if p[0] == '*' {
		return slow(p[1:], t) || t != "" && slow(p, t[1:])
	}
	return t != "" && (p[0] == '?' || p[0] == t[0]) && slow(p[1:], t[1:])
}

func TestGlobMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := rapid.StringMatching(`[ab*?]{0,8}`).Draw(t, "pattern"), rapid.StringMatching(`[ab]{0,10}`).Draw(t, "text")
		if glob(p, s) != slow(p, s) || maybe(p, s) != slow(p, s) {
			t.Fatalf("glob(%q, %q) = %t, maybe = %t", p, s, glob(p, s), maybe(p, s))
		}
	})
}

// TestHoles fills holes: a pattern that matches a text with holes matches whatever they become, and one that matches some
// filling may match.
func TestHoles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.StringMatching(`[ab*?]{0,8}`).Draw(t, "pattern")
		holed := rapid.StringMatching("[ab\x00]{0,6}").Draw(t, "text")
		filled := holed
		for strings.Contains(filled, "\x00") {
			filled = strings.Replace(filled, "\x00", rapid.StringMatching(`[ab]{0,4}`).Draw(t, "filling"), 1)
		}
		if glob(p, holed) && !glob(p, filled) {
			t.Fatalf("%q matches %q and not %q", p, holed, filled)
		}
		if glob(p, filled) && !maybe(p, holed) {
			t.Fatalf("%q matches %q, but never %q", p, filled, holed)
		}
	})
}

func TestMaybe(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"rm *", "r\x00 -rf", true},
		{"rm *", "ls \x00", false},
		{"curl *evil*", "curl \x00", true},
		{"a", "\x00", true},
		{"a", "b\x00", false},
		{"a?c", "a\x00c", true},
		{"ab", "a\x00b", true},
		{"ab", "a\x00\x00b", true},
		{"ab", "b\x00", false},
	} {
		if got := maybe(c.pattern, c.text); got != c.want {
			t.Errorf("maybe(%q, %q) = %t", c.pattern, c.text, got)
		}
	}
}
