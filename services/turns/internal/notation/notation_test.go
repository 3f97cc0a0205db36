package notation_test

import (
	"testing"

	"github.com/jetclaw/jetclaw/services/turns/internal/notation"
)

func TestCall(t *testing.T) {
	for text, want := range map[string][2]string{
		`!tool now`:                             {"now", ""},
		` !tool  fs__read   {"path": "a b"} `:   {"fs__read", `{"path": "a b"}`},
		"!tool write_file\n{\n\"path\": \"x\"}": {"write_file", "{\n\"path\": \"x\"}"},
		`!tool read [1]`:                        {"read", "[1]"},
		`!tool`:                                 {"", ""},
		notation.Usage:                          {"NAME", `{"argument": "value"}`},
	} {
		name, args, ok := notation.Call(text)
		if !ok || name != want[0] || args != want[1] {
			t.Errorf("%q: %q %q %v", text, name, args, ok)
		}
	}
	for _, text := range []string{"", "hello", "!tools", "!toolbox now", "please !tool now", "! tool now"} {
		if name, args, ok := notation.Call(text); ok {
			t.Errorf("%q: %q %q", text, name, args)
		}
	}
}
