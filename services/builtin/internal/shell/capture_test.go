package shell

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestCapture: however an output is cut into writes, its beginning and its end are kept, and the rest is counted.
func TestCapture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c capture
		var all []byte
		for i, n := range rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, 100_000)), 0, 8).Draw(t, "writes") {
			p := bytes.Repeat([]byte{byte('a' + i)}, n)
			if wrote, err := c.Write(p); wrote != n || err != nil {
				t.Fatal(wrote, err)
			}
			all = append(all, p...)
		}
		text, cut := c.result()
		head, tail := all, []byte(nil)
		if len(all) > keepHead+keepTail {
			head, tail = all[:keepHead], all[len(all)-keepTail:]
		}
		if int(cut) != len(all)-len(head)-len(tail) {
			t.Fatalf("cut %d of %d", cut, len(all))
		}
		if !strings.HasPrefix(text, string(head)) || !strings.HasSuffix(strings.TrimSuffix(text, "\n"), string(tail)) {
			t.Fatal("other text")
		}
		if len(c.head) > keepHead || len(c.tail) > 2*keepTail {
			t.Fatalf("grew to %d and %d", len(c.head), len(c.tail))
		}
	})
}

// TestCaptureCharacters: a cut through a character takes it whole.
func TestCaptureCharacters(t *testing.T) {
	for shift := range 4 {
		var c capture
		all := strings.Repeat("x", shift) + strings.Repeat("€𝄞", 20_000)
		_, _ = c.Write([]byte(all))
		text, cut := c.result()
		if strings.ContainsRune(text, utf8.RuneError) {
			t.Errorf("shift %d: a broken character", shift)
		}
		before, rest, _ := strings.Cut(text, "\n[…")
		_, after, _ := strings.Cut(rest, "…]\n")
		if kept := len(before) + len(strings.TrimSuffix(after, "\n")); int64(kept)+cut != int64(len(all)) {
			t.Errorf("shift %d: %d kept, %d cut, of %d", shift, kept, cut, len(all))
		}
	}
}

// TestPlain: whatever is printed, the result is text.
func TestPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte("\x1b[]m\r\n\a;0")))).Draw(t, "printed")
		got := plain(string(in))
		if !utf8.ValidString(got) {
			t.Fatalf("%q: not valid: %q", in, got)
		}
		for _, r := range got {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Fatalf("%q: %U is left", in, r)
			}
		}
	})
	for in, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m":          "red",
		"\x1b]0;title\x07text":          "text",
		"\x1b]8;;http://x\x1b\\link":    "link",
		"\x1b]0;never ended\nnext line": "\nnext line",
		"\x1b(Bplain\x1bc":              "plain",
		"10%\r20%\r\n":                  "10%\n20%\n",
		"a\x00\x08b\u0085\ttab":         "ab\ttab",
		"\xff\xfe bytes":                "\uFFFD bytes",
	} {
		if got := plain(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
