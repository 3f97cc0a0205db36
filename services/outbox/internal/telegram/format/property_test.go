package format

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"pgregory.net/rapid"
)

// wrong says which of Telegram's rules a part breaks.
func wrong(p Part, limit int) string {
	u := utf16.Encode([]rune(p.Text))
	cuts := func(i int) bool { return i > 0 && i < len(u) && u[i] >= 0xdc00 && u[i] < 0xe000 }
	space := func(i int) bool { return unicode.IsSpace(rune(u[i])) }
	switch {
	case !utf8.ValidString(p.Text):
		return "no UTF-8"
	case len(u) == 0 || len(u) > max(limit, narrowest):
		return "length"
	case strings.TrimSpace(p.Text) != p.Text:
		return "whitespace around it"
	case !visible(p.Text):
		return "nothing to see"
	case clean(p.Text) != p.Text:
		return "control characters"
	case len(p.Entities) > MaxEntities:
		return "too many entities"
	}
	var around []Entity
	for i, e := range p.Entities {
		end := e.Offset + e.Length
		switch {
		case e.Offset < 0 || e.Length < 1 || end > len(u):
			return "an entity out of bounds"
		case cuts(e.Offset) || cuts(end):
			return "an entity cuts a pair"
		case space(e.Offset) || space(end-1):
			return "an entity with whitespace around it"
		case i > 0 && e.Offset < p.Entities[i-1].Offset:
			return "unsorted"
		case e.Type == textLink && !follows(e.URL):
			return "an address"
		}
		around = slices.DeleteFunc(around, func(a Entity) bool { return a.Offset+a.Length <= e.Offset })
		for _, a := range around {
			switch {
			case end > a.Offset+a.Length:
				return "entities overlap"
			case a.Type == pre || a.Type == code || e.Type == pre || e.Type == code:
				return "code within another, or another within code"
			case a.Type == e.Type:
				return "the same within itself"
			case e.Type == blockquote:
				return "a quote within another"
			}
		}
		around = append(around, e)
	}
	return ""
}

// seen is all of a text that can be seen.
func seen(s string) string {
	return strings.Map(func(r rune) rune {
		if blank(r) {
			return -1
		}
		return r
	}, s)
}

func together(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// marked is for each code unit that can be seen the entities that it lies in.
func marked(text string, entities []Entity) (out []string) {
	at := make([]string, Units(text))
	for _, e := range entities {
		for i := e.Offset; i < e.Offset+e.Length; i++ {
			at[i] += e.Type + e.URL + e.Language + " "
		}
	}
	u := 0
	for _, r := range text {
		if !blank(r) {
			out = append(out, string(r)+at[u])
		}
		u += unitsOf(r)
	}
	return out
}

// clusters are the ends of grapheme clusters, in bytes.
func clusters(s string) map[int]bool {
	ends := map[int]bool{}
	at := 0
	for g := displaywidth.StringGraphemes(s); g.Next(); {
		at += len(g.Value())
		ends[at] = true
	}
	return ends
}

func markdown() *rapid.Generator[string] {
	part := rapid.OneOf(rapid.SampledFrom([]string{
		"a", "b ", "c\n", "\n", "\n\n", "- ", "  ", "    ", "1. ", "7) ", "* ", "*", "**", "***", "_", "`", "``", "```\n", "```go\n", "~~~\n", "~~", "~", "# ", "> ",
		"|", "|---|:-:|\n", "a|b\n", "---\n", "===\n", "[x](", "![", "[", "]", "](https://a.b/c)", ")", "https://h.i/", "<b>", "<br>", "<!--", "-->", "<https://h.i>",
		"&amp;", "&#27;", "&nbsp;", "&#10;", "\\", "\t", "語。", "👩‍👩‍👧", "🇩🇪🇫🇷", "e\u0301\u0333\u0330", "שלום\u202e", "\x1b[2J", "\x00", "\xff", "[r]: https://h.i\n", "- [x] ", "\u200b",
		"<div>\n", "𝕏", "word word word ",
	}), rapid.String())
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(part, 0, 60).Draw(t, "parts"), "") })
}

// TestPartsKeepTheRules: every part of every text can be sent, and together they are the whole text with all its marks.
func TestPartsKeepTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := markdown().Draw(t, "markdown")
		text, entities := Render(src)
		if text != "" && visible(text) {
			if w := wrong(Part{text, entities}, len(text)); w != "" && w != "too many entities" {
				t.Fatalf("%q renders as %q %+v: %s", src, text, entities, w)
			}
		}
		limit := rapid.IntRange(1, 40).Draw(t, "limit")
		parts := Split(text, entities, limit)
		for _, p := range parts {
			if w := wrong(p, limit); w != "" {
				t.Fatalf("%q has part %q %+v: %s", src, p.Text, p.Entities, w)
			}
		}
		if got := together(parts); seen(got) != seen(text) {
			t.Fatalf("%q is %q, in parts %q", src, text, got)
		}
		var got []string
		for _, p := range parts {
			got = append(got, marked(p.Text, p.Entities)...)
		}
		if want := marked(text, entities); !slices.Equal(got, want) {
			t.Fatalf("%q is marked %q, in parts %q", src, want, got)
		}
		for _, p := range Parts(src) {
			if w := wrong(p, MaxUnits); w != "" {
				t.Fatalf("%q: %q: %s", src, p.Text, w)
			}
		}
		for _, letter := range "abc語𝕏" { // the label of a fence is no text; a link's text may have been its address
			if strings.ContainsAny(src, "`~<[&") {
				break
			}
			if have, want := strings.Count(text, string(letter)), strings.Count(src, string(letter)); have != want {
				t.Fatalf("%d %c of %d in %q, which is %q", have, letter, want, src, text)
			}
		}
	})
}

// TestPlainLosesNothing: a text without markup comes out as it went in.
func TestPlainLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := strings.Repeat(markdown().Draw(t, "text"), rapid.IntRange(1, 50).Draw(t, "times"))
		parts := Plain(src)
		for _, p := range parts {
			if w := wrong(p, MaxUnits); w != "" || p.Entities != nil {
				t.Fatalf("%q: %s", p.Text, w)
			}
		}
		if want := clean(src); visible(want) && seen(together(parts)) != seen(want) {
			t.Fatalf("%q is %q", src, together(parts))
		}
	})
}

// TestClustersStayWhole puts what is one character to a reader at every place of a border.
func TestClustersStayWhole(t *testing.T) {
	zalgo := "Z" + strings.Repeat("\u0310\u0489\u0321", 6)
	for _, cluster := range []string{"😀", "👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "e\u0301", "क्षि", "각", zalgo, "❤️‍🔥"} {
		for before := range 48 {
			text := strings.Repeat("x", before) + strings.Repeat(cluster, 40)
			for _, limit := range []int{Units(cluster), Units(cluster) + 1, 30, 47} {
				limit = max(limit, narrowest)
				ends, at := clusters(text), 0
				for _, p := range Split(text, nil, limit) {
					at += len(p.Text)
					if !ends[at] || Units(p.Text) > limit {
						t.Fatalf("%q after %d by %d: %q", cluster, before, limit, p.Text)
					}
				}
				if at != len(text) {
					t.Fatalf("%q after %d by %d: %d bytes of %d", cluster, before, limit, at, len(text))
				}
			}
		}
	}
}

// TestEmojiAtTheRealBorder does the same where it happens.
func TestEmojiAtTheRealBorder(t *testing.T) {
	for before := MaxUnits - 12; before <= MaxUnits; before++ {
		parts := Parts("**" + strings.Repeat("x", before) + "👩‍👩‍👧b**")
		want := 2
		if before+9 <= MaxUnits {
			want = 1
		}
		last := parts[len(parts)-1]
		if len(parts) != want || !strings.HasSuffix(last.Text, "b") || len(last.Entities) != 1 {
			t.Errorf("after %d: %d parts, last %q", before, len(parts), last.Text)
		}
		if before+8 > MaxUnits && last.Text != "👩‍👩‍👧b" {
			t.Errorf("after %d: %q", before, last.Text)
		}
	}
}

func FuzzParts(f *testing.F) {
	for _, s := range []string{"", "a", "**a `b` c**", "> a\n> ```go\n> b\n> ```", "|a|b|\n|-|-|\n|`x\\|y`|", "- [x] a\n  - b", "[x](https://a.b) ![y](z)", "😀\xff\x00", "<div>\n<!--"} {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, src string, limit int) {
		for _, p := range slices.Concat(Parts(src), Plain(src)) {
			if w := wrong(p, MaxUnits); w != "" {
				t.Fatalf("%q: %s", p.Text, w)
			}
		}
		text, entities := Render(src)
		parts := Split(text, entities, limit)
		for _, p := range parts {
			if w := wrong(p, max(limit, narrowest)); w != "" {
				t.Fatalf("%q: %s", p.Text, w)
			}
		}
		if seen(together(parts)) != seen(text) {
			t.Fatalf("%q is %q", text, together(parts))
		}
	})
}
