package files

import (
	"fmt"
	"strings"
	"testing"
)

func TestRemember(t *testing.T) {
	for name, c := range map[string]struct{ was, text, want string }{
		"the first":       {"(none)", "likes tea", "- 2026-03-01: likes tea\n"},
		"another":         {"# Memory\n- a\n", "b", "# Memory\n- a\n- 2026-03-01: b\n"},
		"no end of line":  {"# Memory\n- a", "b", "# Memory\n- a\n- 2026-03-01: b\n"},
		"crlf":            {"# Memory\r\n- a", "b", "# Memory\r\n- a\r\n- 2026-03-01: b\r\n"},
		"lines are one":   {"(none)", " a\n# b\r\n\tc\u2028d\x1b[2Je\u202ef ", "- 2026-03-01: a # b c d [2Jef\n"},
		"as long as can":  {"(none)", strings.Repeat("ü", maxNote), "- 2026-03-01: " + strings.Repeat("ü", maxNote) + "\n"},
		"mark at the top": {mark + "- a\n", "b", mark + "- a\n- 2026-03-01: b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.allowed = true
			if c.was != "(none)" {
				b.put("MEMORY.md", c.was)
			}
			b.ok("remember", args{"text": c.text})
			b.wants("MEMORY.md", c.want)
		})
	}
	b := newBench(t, nil)
	b.allowed = true
	b.refused("remember", args{"text": " \n"}, "1 to 500 characters")
	b.refused("remember", args{"text": strings.Repeat("ü", maxNote+1)}, "this one has 501")
	b.wants("MEMORY.md", "(none)")
	b.link("MEMORY.md", "../outside/secret.txt")
	b.refused("remember", args{"text": "x"}, "outside")
	b.refused("recall", args{}, "outside")
	b.wants("../outside/secret.txt", outsideText)
}

func TestRecall(t *testing.T) {
	b := newBench(t, nil)
	if r := b.ok("recall", args{}); r.Text != "[there are no notes yet]" {
		t.Errorf("got %q", r.Text)
	}
	b.put("MEMORY.md", mark+"# Memory\r\n\r\n- 2026-01-01: Likes green Tea\r\n- 2026-01-02: dislikes coffee\r\n  but only at night\r\n## People\r\nAnna likes tea too\r\n")
	for query, want := range map[string]string{
		"":               "- 2026-01-01: Likes green Tea\n- 2026-01-02: dislikes coffee\n  but only at night\nAnna likes tea too",
		"TEA likes":      "- 2026-01-01: Likes green Tea\nAnna likes tea too",
		"night":          "- 2026-01-02: dislikes coffee\n  but only at night",
		"tea green":      "- 2026-01-01: Likes green Tea",
		"tea night":      "[no note has all of these words]",
		"memory":         "[no note has all of these words]",
		"2026-01-01 tea": "- 2026-01-01: Likes green Tea",
	} {
		if r := b.ok("recall", args{"query": query}); r.Text != want || !r.Private || r.Untrusted {
			t.Errorf("%q: %+v", query, r)
		}
	}
	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, "- note %d %s\n", i, strings.Repeat("x", 50))
	}
	b.put("MEMORY.md", many.String())
	r := b.ok("recall", args{"query": "note"})
	if len(r.Text) > maxRead+200 || !strings.HasSuffix(r.Text, strings.Repeat("x", 50)) || !strings.Contains(r.Text, "- note 2999 ") ||
		!strings.Contains(r.Text, "older notes are left out") || r.Cut+int64(len(r.Text)) < int64(many.Len()) {
		t.Errorf("%d bytes, cut %d: %.100s", len(r.Text), r.Cut, r.Text)
	}
	b.put("MEMORY.md", "\xff\xfe bad")
	if r := b.ok("recall", args{}); r.Text != "\ufffd bad" {
		t.Errorf("got %q", r.Text)
	}
}
