package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

func TestDecode(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`{"session":"a","text":"b"}`, ""},
		{`{"session":"a","text":null}`, ""},
		{"{\"session\":\"a\"}\n ", ""},
		{``, "empty"},
		{`{"session":"a"`, "ends too early"},
		{`{"session":"a"} {}`, "goes on"},
		{`{"session":"a"}]`, "goes on"},
		{`{"sesion":"a"}`, `unknown field "sesion"`},
		{`{"session":7}`, `field "session" is a number, want a string`},
		{`{"from":{"id":true}}`, `field "from.id" is a bool, want a string`},
		{`[]`, "want an object"},
		{`{"session":x}`, "not JSON"},
		{`{"text":"a","Text":"b"}`, "given twice"},
	} {
		var r Request
		err := Decode([]byte(tc.in), &r)
		if tc.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tc.in, err)
			}
			continue
		}
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.in, err, tc.want)
		}
	}
}

func TestTextKeepsBadBytes(t *testing.T) {
	for in, want := range map[string]string{
		`{"text":"a\u00e4\n\"b"}`:        "aä\n\"b",
		"{\"text\":\"a\xff\"}":           "a\xff",
		"{\"text\":\"ä\uFFFD\"}":         "ä\uFFFD",
		`{"text":"\ud83d\ude00\\ud800"}`: "😀\\ud800", // a pair, and an escaped backslash
		`{"text":"a\ud800"}`:             "a\xed\xa0\x80",
		`{"text":"\udc00b"}`:             "\xed\xa0\x80b",
		`{"text":"\ud800\ud83d\ude00"}`:  "\xed\xa0\x80\\ud83d\\ude00",
	} {
		var r Request
		if err := Decode([]byte(in), &r); err != nil || string(r.Text) != want {
			t.Errorf("%q: %q, %v", in, r.Text, err)
		}
	}
}

func TestWaitIsBounded(t *testing.T) {
	for ms, want := range map[int64]time.Duration{-1: 0, 0: 0, 250: 250 * time.Millisecond, 1 << 60: MaxWait} {
		if got := (ReplyRequest{WaitMS: ms}).Wait(); got != want {
			t.Errorf("%d ms: %v", ms, got)
		}
	}
}
