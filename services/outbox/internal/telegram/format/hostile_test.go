package format

import (
	"os"
	"strings"
	"testing"
)

// enough of a text that what takes quadratic time for it would not come to an end.
const enough = 1 << 19

func fill(s string) string { return strings.Repeat(s, enough/len(s)) }

// TestMegabyte renders what a model might write if nobody stopped it.
func TestMegabyte(t *testing.T) {
	src, err := os.ReadFile("testdata/answer.md")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Repeat(string(src)+"\n", 1<<20/len(src))
	text, _ := Render(all)
	parts := Parts(all)
	for _, p := range parts {
		if w := wrong(p, MaxUnits); w != "" {
			t.Fatalf("%.80q: %s", p.Text, w)
		}
	}
	if seen(together(parts)) != seen(text) {
		t.Error("something is lost")
	}
}

// TestHostile renders much of what parsers choke on. That it comes to an end is the test: what takes quadratic time
// would not, within the time that a test may take.
func TestHostile(t *testing.T) {
	deep := func(s string) string { return strings.Repeat(s, 10_000) }
	stairs := func(mark string) string { // each line one level deeper
		var b strings.Builder
		for i := range 1400 {
			b.WriteString(strings.Repeat(" ", i) + mark + "a\n")
		}
		return b.String()
	}
	for name, src := range map[string]string{
		"one long word":           fill("x"),
		"one long line":           fill("word "),
		"lines":                   fill("x\n"),
		"empty lines":             "- a\n" + fill("\n"),
		"empty lines in lists":    fill("- - - - - - - - - - a\n\n\n" + strings.Repeat(" ", 20) + "b\n\n\n"),
		"quotes in quotes":        deep("> ") + "a\n" + strings.Repeat("b\n", 10_000),
		"quotes on every line":    fill(strings.Repeat(">", 1000) + "a\n"),
		"lists in lists":          deep("- ") + "a\n" + strings.Repeat("b\n", 10_000),
		"lists and quotes":        deep("- > 1. ") + "a",
		"stairs of lists":         stairs("- "),
		"stairs of numbers":       stairs("1. "),
		"stairs of quotes":        stairs("> "),
		"dashes":                  fill("- "),
		"brackets":                fill("["),
		"pairs of brackets":       fill("[]"),
		"closed brackets":         strings.Repeat("[", enough/2) + strings.Repeat("]", enough/2),
		"images":                  strings.Repeat("![", enough/4) + strings.Repeat("](https://a.b)", enough/32),
		"half links":              fill("[a](b"),
		"links with titles":       fill("[a](b \"c"),
		"links":                   fill("[a](https://b.c) "),
		"stars":                   fill("*"),
		"stars and letters":       fill("*a **b "),
		"open and closed":         strings.Repeat("*a ", enough/4) + strings.Repeat("b* ", enough/4),
		"bold paragraphs":         fill("**a** *b* `c` [d](https://e.f)\n\n"),
		"many marks a paragraph":  fill(strings.Repeat("*a _b ", 1000) + "\n\n"),
		"underscores":             fill("_a_"),
		"tildes":                  fill("~~a"),
		"backticks":               fill("`"),
		"growing backticks":       growing("`", "a"),
		"growing stars":           growing("*", "a"),
		"unclosed code":           fill("`a``b```c"),
		"unclosed code in blocks": fill(strings.Repeat("`a``b", 3000) + "\n\n"),
		"angles":                  fill("<"),
		"tags":                    fill("<a "),
		"comments":                fill("a <!--"),
		"instructions":            fill("a <?"),
		"sections":                fill("a <![CDATA["),
		"html blocks":             fill("<div>\n\n"),
		"ampersands":              fill("&"),
		"backslashes":             fill("\\"),
		"references":              fill("&#x41;"),
		"definitions":             fill("[a]: b\n"),
		"wide table":              "|" + strings.Repeat("a|", 20_000) + "\n|" + strings.Repeat("-|", 20_000) + "\n" + strings.Repeat("|\n", 100_000),
		"long table":              "|a|b|\n|-|-|\n" + fill("|c|d|\n"),
		"half tables":             fill("|a|b|\n|-|-|\n"),
		"many tables":             fill("|a|b|\n|-|-|\n|`c\\|d`|e|\n\n"),
		"a wide cell":             "|a|b|\n|-|-|\n|" + strings.Repeat("w", 100_000) + "|x|\n" + strings.Repeat("|c|d|\n", 2000),
		"fences":                  fill("```\n"),
		"small fences":            fill("```\na\n```\n"),
		"spaces":                  "a" + fill(" ") + "b",
		"lines of spaces":         fill("a\n" + strings.Repeat(" ", 1000) + "\n"),
		"tabs in code":            "```\na\n" + fill("\t") + "\nb\n```",
		"headings":                fill("# a\n"),
		"underlines":              fill("a\n=\n"),
		"one cluster":             "a" + fill("\u0301"),
		"joined emoji":            fill("👩\u200d"),
		"flags":                   fill("🇩🇪"),
		"marks to override":       fill("\u202e"),
		"no utf-8":                fill("\xff"),
		"controls":                fill("\x00\x1b"),
		"invisible":               fill("\u200b"),
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range Parts(src) {
				if w := wrong(p, MaxUnits); w != "" {
					t.Fatalf("%.80q: %s", p.Text, w)
				}
			}
		})
	}
}

// TestHostilePlain does the same without a parser.
func TestHostilePlain(t *testing.T) {
	for _, src := range []string{"x", "x\n", "word ", "语", "\u0301", "👩\u200d", "🇩🇪", "\u200b", "\n", "\"<&>", "\x00\xff"} {
		for _, p := range Plain("a" + fill(src) + "b") {
			if w := wrong(p, MaxUnits); w != "" {
				t.Fatalf("%.80q: %s", p.Text, w)
			}
		}
	}
}

// growing is one mark, a letter, two marks, a letter, and so on.
func growing(mark, letter string) string {
	var b strings.Builder
	for i := 1; b.Len() < enough; i++ {
		b.WriteString(strings.Repeat(mark, i) + letter)
	}
	return b.String()
}

// TestBeyondTheBounds: what has no meaning any more is there as it was written.
func TestBeyondTheBounds(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"quotes":  {strings.Repeat(">", 40) + " a", strings.Repeat("> ", deepest-1) + strings.Repeat(">", 40-deepest) + " a"},
		"a block": {"**a** " + strings.Repeat("x ", longest), "**a** x x"},
		"marks":   {strings.Repeat("*a ", busiest) + "**b**", " *a **b**"},
		"stars":   {"*********a*********", "*********a*********"},
		"cells":   {"|a|b|c|\n|-|-|-|\n" + strings.Repeat("|d|e|f|\n", largest/3), "|d|e|f|\n|d|e|f|"},
	} {
		if text, _ := Render(c.src); !strings.Contains(text, c.want) {
			t.Errorf("%s: %.200q … %q", name, text, text[max(0, len(text)-60):])
		}
	}
}
