package markdown

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files")

func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// TestGolden renders each text in testdata in three ways. Sequences are shown as «…».
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, o := range []Options{{Width: 60, Colour: true, Clean: clean}, {Width: 60, Clean: clean}, {Width: 30, Clean: clean}} {
			got.WriteString(sgr.ReplaceAllString(New(o).All(string(src)), "«$1»"))
			got.WriteString("=====\n")
		}
		golden := strings.TrimSuffix(name, ".md") + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%s: got\n%s", name, got.String())
		}
	}
}

var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// TestNothingDrivesTheTerminal hides control characters where a parser might bring them back.
func TestNothingDrivesTheTerminal(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		"a &#27;]0;title&#7; b", "&#x1b;[2J", "&#x9b;2J", "`\x1b[2J`", "```\x1b[1m\n\x1b[2J&#27;\n```", "[x](<\x1b[2J>)", "[x](y&#27;[2Jz)",
		"![\x1b[2J](z)", "| \x1b[2J | &#27;c |\n|---|---|\n| &#27;c | `\x1b` |", "<b \x1b[2J>", "<div>\n\x1b[2J\n</div>", "# &#27;c", "- &#27;c",
		"<http://a/\x1b[2J>", "~~&#27;c~~", "> &#155;c", "    \x1b[2J", "- ```\x1b\n  \x1b[2J\n  ```", "\\\x1b[2J", strings.Repeat("\x1b[2J\n", longest),
	} {
		got := sgr.ReplaceAllString(New(Options{Width: 40, Colour: true, Clean: clean}).All(src), "")
		if got != clean(got) || strings.TrimSpace(got) == "" {
			t.Errorf("%.60q is %.60q", src, got)
		}
	}
}

func texts() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{
		"a", "b ", "c\n", "\n", "\n\n", "- ", "  ", "    ", "1. ", "7) ", "* ", "**", "`", "```", "```go\n", "~~~", "# ", "> ", "|", "|---|---|\n",
		"---", "[x](", ")", "http://h/", "<b>", "<!--", "-->", "&amp;", "&#27;", "\\", "_", "~~", "=", "\t", "語", "👩‍👩‍👧", "\x1b[2J", "[r]: http://h\n",
	})
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(part, 0, 60).Draw(t, "parts"), "") })
}

// TestSplitsDoNotMatter: pieces are the same however the text comes, and no letter of it is lost.
func TestSplitsDoNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := texts().Draw(t, "text")
		r := New(Options{Width: rapid.IntRange(1, 80).Draw(t, "width"), Colour: rapid.Bool().Draw(t, "colour"), Clean: clean})
		var s Splitter
		var got strings.Builder
		for rest := src; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 12)).Draw(t, "n")
			for _, p := range s.Add(rest[:n]) {
				got.WriteString(r.Render(p))
			}
			rest = rest[n:]
		}
		for _, p := range s.End() {
			got.WriteString(r.Render(p))
		}
		if whole := r.All(src); got.String() != whole {
			t.Fatalf("%q is %q in parts, %q as a whole", src, got.String(), whole)
		}
		shown := sgr.ReplaceAllString(got.String(), "")
		if shown != clean(shown) {
			t.Fatalf("%q is %q", src, shown)
		}
		for _, c := range "abc語" {
			// A link's text may have been its address: it is not shown twice. The letters of entities and languages are added.
			if have, want := strings.Count(shown, string(c)), strings.Count(src, string(c)); have+strings.Count(src, "&amp;") < want {
				t.Fatalf("%d %c of %d in %q, which is %q", have, c, want, src, shown)
			}
		}
	})
}

// TestAnEndIsSeenAtOnce: what is complete is handed out before what comes next is.
func TestAnEndIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		whole int
		tail  string
	}{
		{"one\ntwo", 0, "one\ntwo"},
		{"one\n\n", 1, ""},
		{"# one\n", 1, ""},
		{"one\n# two\n", 2, ""},
		{"text\n```go\nline\n", 3, ""},
		{"```\na\n\nb\n```\n", 5, ""},
		{"- one\n- two\n", 1, "- two\n"},
		{"- one\n\n  more\n", 0, "- one\n\n  more\n"},
		{"- one\n\nno more\n", 1, "no more\n"},
		{"- ```\n  a\n\n- b\n  ```\n", 0, "- ```\n  a\n\n- b\n  ```\n"},
		{"| a | b |\n|---|---|\n| c | d |\n", 0, "| a | b |\n|---|---|\n| c | d |\n"},
		{"in\n1986. A year\n", 0, "in\n1986. A year\n"},
		{"things:\n1. one\n", 1, "1. one\n"},
	} {
		var s Splitter
		if got := len(s.Add(c.text)); got != c.whole || s.Tail(100) != c.tail {
			t.Errorf("%q: %d pieces, want %d; and %q", c.text, got, c.whole, s.Tail(100))
		}
	}
}

// TestHostileText must not keep the parser busy.
func TestHostileText(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"[", "*a", "`", "> ", "- ", "<a", "![[", "&", "|", "a|b\n-|-\n", "**_", "(", "]("} {
		src := strings.Repeat(s, (longest-2)/len(s))
		began := time.Now()
		New(Options{Width: 80, Clean: clean}).All(src)
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("%q takes %s", s, d)
		} else {
			t.Logf("%q takes %s", s, d)
		}
	}
}
