package gate

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

func TestShown(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{}`, "run"},
		{`{"b":1,"a":[true,"x<y"],"c":{"d":null}}`, "run\na: [true,\"x<y\"]\nb: 1\nc: {\"d\":null}"},
		{`{"a":"first","command":"ls"}`, "run\ncommand: ls\na: first"},
		{`{"command":"ls\nid\n"}`, "run\ncommand:\n    ls\n    id\n    "},
		{`{"a":""}`, "run\na: (empty)"},
		{`{"a":"x\npath: y"}`, "run\na:\n    x\n    path: y"},
		{`{"a\nb":"x"}`, `run` + "\n" + `a\u{A}b: x`},
		{`{"a":"x\u202Ey\u2066\u200E\u061C"}`, "run\n" + `a: x\u{202E}y\u{2066}\u{200E}\u{61C}`},
		{`{"a":"p\u0061y\u200Bpal \uFEFF\u00AD"}`, "run\n" + `a: pay\u{200B}pal \u{FEFF}\u{AD}`},
		{`{"a":"\u00A0\u3000\u2028"}`, "run\n" + `a: \u{A0}\u{3000}\u{2028}`},
		{`{"a":"\udb40\udc41"}`, "run\n" + `a: \u{E0041}`}, // a tag: text that only models see
		{`{"a":"\u3164\u2800"}`, "run\n" + `a: \u{3164}\u{2800}`},
		{`{"a":"\u001b[2K\r\u0000\u007f"}`, "run\n" + `a: \u{1B}[2K\u{D}\u{0}\u{7F}`},
		{`{"a":"z\u0301\u0301\u0301\u0301"}`, "run\n" + "a: z\u0301\u0301" + `\u{301}\u{301}`},
		{`{"a":"\\u{202E}"}`, "run\n" + `a: \u{5C}u{202E}`},
		{`{"a":"c:\\user"}`, "run\n" + `a: c:\user`},
		{`{"a":"\tx "}`, "run\na: \tx" + `\u{20}`},
		{`{"a":["\u202E"]}`, "run\n" + `a: ["\u{202E}"]`},
		{`{"a":"Größe 日本語 🙂"}`, "run\na: Größe 日本語 🙂"},
	} {
		var args map[string]any
		if err := json.Unmarshal([]byte(c.args), &args); err != nil {
			t.Fatal(err)
		}
		if got := shown(toolv1.Tool{Name: "run", Shell: "command"}, args); got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.args, got, c.want)
		}
	}
}

// TestNothingHides checks what people are shown for any text: only what prints, and no two texts the same.
func TestNothingHides(t *testing.T) {
	nasty := rapid.SampledFrom([]rune{'a', ' ', '\n', '\t', '\\', 'u', '{', '}', '\u202e', '\u200b', '\u2028', '\u00ad', '\ufe0f', '\U000e0041', '\u0301', '\x00', '\ufffd'})
	text := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(nasty).Draw(t, "runes")) }))
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		tool := toolv1.Tool{Name: "t"}
		seen := shown(tool, map[string]any{"x": a})
		for _, r := range seen {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
				t.Fatalf("%q shows %U", a, r)
			}
		}
		if a != b && !strings.Contains(a+b, "(empty)") && a != "" && b != "" && seen == shown(tool, map[string]any{"x": b}) {
			t.Fatalf("%q and %q are both shown as %q", a, b, seen)
		}
	})
}
