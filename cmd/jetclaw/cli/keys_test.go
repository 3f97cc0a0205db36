package cli

import (
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	text := func(s string) string { return textBegins + s + textEnds }
	for name, c := range map[string]struct {
		pieces []string
		want   string
	}{
		"text":                   {[]string{"hé\r"}, text("hé") + "\r"},
		"torn character":         {[]string{"h\xc3", "\xa9"}, text("h") + text("é")},
		"not UTF-8":              {[]string{"a\xffb\ufffd"}, text("ab")},
		"arrows":                 {[]string{"\x1b[A\x1bOD\x1b[1;5C"}, "\x1b[A\x1b[D\x1b[1;3C"},
		"torn arrow":             {[]string{"\x1b", "[", "A"}, "\x1b[A"},
		"escape, then a letter":  {[]string{"\x1b", "x\r"}, text("x") + "\r"},
		"escape, then enter":     {[]string{"\x1b12", "\r"}, text("2") + "\r"},
		"alt":                    {[]string{"\x1bxa\x1bb"}, text("a") + "\x1b[1;3D"},
		"function keys, a mouse": {[]string{"\x1bOP\x1b[15~\x1b[<0;1;2M\x1b[I"}, ""},
		"colours":                {[]string{"\x1b[31mred\x1b[0m\u009b1m"}, text("red") + text("1m")},
		"paste":                  {[]string{"\x1b[200~a\r\nb\n\tc\x1b[31m\x03\x1b[201~\r"}, text("a␤b␤␉c") + "\r"},
		"torn paste":             {[]string{"\x1b[200~a\r", "\nb\x1b[20", "1~\r"}, text("a␤") + text("b") + "\r"},
		"interrupt":              {[]string{"\x03"}, "!"},
		"endless sequence":       {[]string{"\x1b[" + strings.Repeat("1;", 40), "x"}, text("x")},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			k := keys{interrupt: func() { got.WriteString("!") }}
			for _, p := range c.pieces {
				got.WriteString(k.feed([]byte(p)))
			}
			if got := strings.ReplaceAll(got.String(), textEnds+textBegins, ""); got != strings.ReplaceAll(c.want, textEnds+textBegins, "") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
