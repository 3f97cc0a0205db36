package faketelegram_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
)

func TestEntitiesAreChecked(t *testing.T) {
	const cant = "can't parse MessageEntity: "
	s := unlimited(t)
	for _, c := range []struct {
		text, entities, want string // want: a refusal, or the entities that are left
	}{
		{"abc", `[{"type":"bold","offset":0,"length":3}]`, "bold 0 3"},
		{"abc", `"no list"`, ""},
		{"abc", `[{"type":"bold","offset":-1,"length":1}]`, "receive an entity with incorrect offset -1"},
		{"abc", `[{"type":"bold","offset":0,"length":-1}]`, "receive an entity with incorrect length -1"},
		{"hello", `[{"type":"bold","offset":0,"length":100}]`, "entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 100"},
		{"aba caba", `[{"type":"bold","offset":9,"length":1}]`, "entity begins after the end of the text at UTF-16 offset 9"},
		{"aba caba", `[{"type":"bold","offset":8,"length":1}]`, "entity begins after the end of the text at UTF-16 offset 8"},
		{"👉 👉", `[{"type":"bold","offset":1,"length":1}]`, "entity begins in a middle of a UTF-16 symbol at byte offset 4"},
		{"👉 👉", `[{"type":"bold","offset":0,"length":1}]`, "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 4"},
		{"👉 👉", `[{"type":"bold","offset":3,"length":2}]`, "bold 3 2"},
		{"abc", `[{"type":"sparkle","offset":0,"length":1}]`, cant + "Unsupported type specified"},
		{"abc", `[{"offset":0,"length":1}]`, cant + "Type is not specified"},
		{"abc", `[{"type":"bold","length":1}]`, cant + `Can't find field "offset"`},
		{"abc", `[{"type":"bold","offset":1}]`, cant + `Can't find field "length"`},
		{"abc", `[7]`, cant + "expected an Object"},
		{"abc", `[{"type":"text_mention","offset":0,"length":1}]`, cant + `Can't find field "user"`},
		{"abc", `[{"type":"custom_emoji","offset":0,"length":1,"custom_emoji_id":"x"}]`, cant + `Field "custom_emoji_id" must be a valid Number`},
		{"abc", `[{"type":"text_link","offset":0,"length":1,"url":""}]`, "entity URL '' is invalid: URL host is empty"},
		{"abc", `[{"type":"text_link","offset":0,"length":1,"url":"http://localhost/x"}]`, "entity URL 'http://localhost/x' is invalid: Wrong HTTP URL"},
		{"abc", `[{"type":"text_link","offset":0,"length":1,"url":"file:///etc/passwd"}]`, "entity URL 'file:///etc/passwd' is invalid: Unsupported URL protocol"},
		{"abc", `[{"type":"text_link","offset":0,"length":1,"url":"tg://user?id=1"}]`, "text_link 0 1"},
		{"abc", `[{"type":"text_link","offset":0,"length":1,"url":"https://x.org/a b"}]`, "text_link 0 1"},
		{"@abc /x", `[{"type":"mention","offset":0,"length":4},{"type":"bot_command","offset":5,"length":2}]`, ""},
		{"abc", `[{"type":"bold","offset":0,"length":3},{"type":"italic","offset":1,"length":1},{"type":"blockquote","offset":0,"length":3}]`, "bold 0 3, blockquote 0 3, italic 1 1"},
		{"abcd", `[{"type":"text_link","offset":0,"length":4,"url":"https://x.org"},{"type":"bold","offset":1,"length":2}]`, "text_link 0 4, bold 1 2"},
		{"\r\n  abc\td\n", `[{"type":"code","offset":4,"length":5}]`, "code 0 5"},
		{"  abc", `[{"type":"code","offset":1,"length":4}]`, "code 0 4"},
		{"abc  ", `[{"type":"code","offset":1,"length":4}]`, "code 1 2"},

		{"abc", `[{"type":"bold","offset":1,"length":0}]`, "strict: bold entity at UTF-16 offset 1 has nothing to show"},
		{"a  c", `[{"type":"bold","offset":1,"length":2}]`, "strict: bold entity at UTF-16 offset 1 has nothing to show"},
		{"abcd", `[{"type":"bold","offset":0,"length":2},{"type":"italic","offset":1,"length":2}]`, "strict: italic entity at UTF-16 offset 1 is partly in bold"},
		{"abcd", `[{"type":"bold","offset":0,"length":4},{"type":"code","offset":1,"length":2}]`, "strict: code entity at UTF-16 offset 1 shares text with bold"},
		{"abcd", `[{"type":"pre","offset":0,"length":4},{"type":"bold","offset":1,"length":2}]`, "strict: bold entity at UTF-16 offset 1 shares text with pre"},
		{"abcd", `[{"type":"blockquote","offset":0,"length":4},{"type":"expandable_blockquote","offset":1,"length":2}]`, "strict: expandable_blockquote entity at UTF-16 offset 1 is a quotation within another"},
		{"abcd", `[{"type":"text_link","offset":0,"length":4,"url":"https://x.org"},{"type":"text_link","offset":1,"length":2,"url":"https://y.org"}]`, "strict: text_link entity at UTF-16 offset 1 is within text_link"},
		{strings.Repeat("x", 101), "[" + strings.TrimSuffix(strings.Repeat(`{"type":"bold","offset":0,"length":101},`, 101), ",") + "]", "strict: 101 entities"},
	} {
		var m message
		r := call(t.Context(), t, s, "sendMessage", p{"chat_id": 11, "text": c.text, "entities": c.entities})
		got := strings.TrimPrefix(r.Description, "Bad Request: ")
		if r.OK {
			r.decode(t, &m)
			var list []string
			for _, e := range m.Entities {
				list = append(list, e.Type+" "+string(mustJSON(t, e.Offset))+" "+string(mustJSON(t, e.Length)))
			}
			got = strings.Join(list, ", ")
		}
		if got != c.want {
			t.Errorf("%q %s:\ngot  %s\nwant %s", c.text, c.entities, got, c.want)
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The text that an entity covers is the same before and after the server's cleaning, but for what is cleaned away.
func TestEntitiesMoveWithTheText(t *testing.T) {
	s := unlimited(t)
	rapid.Check(t, func(rt *rapid.T) {
		text := string(rapid.SliceOfN(rapid.SampledFrom([]rune("ab\r\n \t😀é\u202b\u030a\u0007")), 1, 30).Draw(rt, "text"))
		units := utf16.Encode([]rune(text))
		if faketelegram.Units(text) != len(units) {
			rt.Fatalf("%d units, want %d", faketelegram.Units(text), len(units))
		}
		from := rapid.IntRange(0, len(units)-1).Draw(rt, "from")
		n := rapid.IntRange(1, len(units)-from).Draw(rt, "n")
		covered := string(utf16.Decode(units[from : from+n]))
		r := call(t.Context(), t, s, "sendMessage", p{"chat_id": 11, "text": text, "entities": []p{{"type": "bold", "offset": from, "length": n}}})
		if strings.ContainsRune(covered, 0xfffd) { // half a pair
			if r.OK || !strings.Contains(r.Description, "in a middle of a UTF-16 symbol") {
				rt.Fatalf("cut pair: %+v", r)
			}
			return
		}
		strip := func(x string) string {
			return strings.NewReplacer("\r", "", "\u202b", "", "\u030a", "", " ", "", "\n", "", "\t", "", "\u0007", "").Replace(x)
		}
		if !r.OK {
			if strip(covered) != "" {
				rt.Fatalf("%+v", r)
			}
			return
		}
		var m message
		r.decode(t, &m)
		got := utf16.Encode([]rune(m.Text))
		e := m.Entities[0]
		if now := string(utf16.Decode(got[e.Offset : e.Offset+e.Length])); strip(now) != strip(covered) {
			rt.Fatalf("%q covers %q, and was %q", m.Text, now, covered)
		}
	})
}
