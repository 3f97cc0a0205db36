package format

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"
)

var update = flag.Bool("update", false, "write the golden files")

// units cuts a text as a client does.
func units(s string, from, to int) string {
	return string(utf16.Decode(utf16.Encode([]rune(s))[from:to]))
}

func show(p Part) string {
	var b strings.Builder
	b.WriteString(p.Text + "\n")
	for _, e := range p.Entities {
		fmt.Fprintf(&b, "  %s%s%s %d+%d %q\n", e.Type, e.URL, e.Language, e.Offset, e.Length, units(p.Text, e.Offset, e.Offset+e.Length))
	}
	return b.String()
}

// TestGolden renders each text in testdata, as a whole and in small parts.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text, entities := Render(string(src))
		got := show(Part{text, entities})
		for _, p := range Split(text, entities, 120) {
			got += "=====\n" + show(p)
		}
		golden := strings.TrimSuffix(name, ".md") + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}

func TestRender(t *testing.T) {
	for _, c := range []struct {
		markdown, text string
		entities       []Entity
	}{
		{"", "", nil},
		{" \n\t ", "", nil},
		{"a", "a", nil},
		{"**a**", "a", []Entity{{Type: "bold", Length: 1}}},
		{"👩‍👩‍👧 **é**", "👩‍👩‍👧 é", []Entity{{Type: "bold", Offset: 9, Length: 1}}},
		{"𝕏 *𝕏* `𝕏`", "𝕏 𝕏 𝕏", []Entity{{Type: "italic", Offset: 3, Length: 2}, {Type: "code", Offset: 6, Length: 2}}},
		{"**a `b` c**", "a b c", []Entity{{Type: "bold", Length: 1}, {Type: "code", Offset: 2, Length: 1}, {Type: "bold", Offset: 4, Length: 1}}},
		{"**`b`**", "b", []Entity{{Type: "code", Length: 1}}},
		{"** a **", "** a **", nil},
		{"a\x00\x1b[31mb\x7f\u0085c", "a[31mbc", nil},
		{"a\xff\xfeb", "a\ufffdb", nil},
		{"&#0;&#27;&#x9b;x&#xd800;", "\ufffdx\ufffd", nil},
		{"a\r\nb\rc\u2028d", "a\nb\nc\nd", nil},
		{"<script>**x**</script>", "<script>**x**</script>", nil},
		{"a <b>*c*</b>", "a <b>c</b>", []Entity{{Type: "italic", Offset: 5, Length: 1}}},
		{"[x](javascript:alert(1))", "x (javascript:alert(1))", nil},
		{"[x](JavaScript:alert)", "x (JavaScript:alert)", nil},
		{"[x](https://bank.example@evil.example/)", "x (https://bank.example@evil.example/)", nil},
		{"[x](http://localhost/)", "x (http://localhost/)", nil},
		{"[x](http://[::1]/)", "x (http://[::1]/)", nil},
		{"[x](http://a.b:99999/)", "x (http://a.b:99999/)", nil},
		{"[x](http://a.b:80/)", "x", []Entity{{Type: "text_link", Length: 1, URL: "http://a.b:80/"}}},
		{"[x](HTTPS://a.b/?q=\"&c=<d>)", "x", []Entity{{Type: "text_link", Length: 1, URL: "HTTPS://a.b/?q=\"&c=<d>"}}},
		{"[x](<https://a.b/c d>)", "x", []Entity{{Type: "text_link", Length: 1, URL: "https://a.b/c%20d"}}},
		{"[x](tg://resolve?domain=y)", "x", []Entity{{Type: "text_link", Length: 1, URL: "tg://resolve?domain=y"}}},
		{"[x](#top) [y]()", "x y", nil},
		{"[](https://a.b/c)", "https://a.b/c", nil},
		{"[**https://a.b**](https://a.b)", "https://a.b", []Entity{{Type: "bold", Length: 11}}},
		{"[a@b.org](mailto:a@b.org) [me](mailto:a@b.org)", "a@b.org me (a@b.org)", nil},
		{"![x](data:image/png;base64,AAAA)", "🖼 x", nil},
		{"![](https://a.b/c.png)", "🖼 image", []Entity{{Type: "text_link", Offset: 3, Length: 5, URL: "https://a.b/c.png"}}},
		{"```\n```", "", nil},
		{"```go\n\n\n```", "", nil},
		{"```go x\na\n```", "a", []Entity{{Type: "pre", Length: 1, Language: "go"}}},
		{"# [x](https://a.b) `c`", "x c", []Entity{{Type: "bold", Length: 1}, {Type: "text_link", Length: 1, URL: "https://a.b"}, {Type: "code", Offset: 2, Length: 1}}},
		{"> a\n> ```\n> b\n> ```\n> c", "a\nb\n\nc", []Entity{{Type: "blockquote", Length: 1}, {Type: "pre", Offset: 2, Length: 1}, {Type: "blockquote", Offset: 5, Length: 1}}},
		{"> `a`", "`a`", []Entity{{Type: "blockquote", Length: 3}}},
		{"* * *", "———", nil},
		{"\u202eabc\u202c **שלום**", "\u202eabc\u202c שלום", []Entity{{Type: "bold", Offset: 6, Length: 4}}},
		{"- [x] a\n- [ ] b\n- c", "☑ a\n☐ b\n• c", nil},
		{"- a\n  - b\n    - c", "• a\n    • b\n        • c", nil},
		{"3. a\n4. b", "3. a\n4. b", nil},
		{"- \n- a", "• \n• a", nil},
		{"a_b_c 2*3*4", "a_b_c 234", []Entity{{Type: "italic", Offset: 7, Length: 1}}},
	} {
		text, entities := Render(c.markdown)
		if text != c.text || !reflect.DeepEqual(entities, c.entities) {
			t.Errorf("%q: %q %+v", c.markdown, text, entities)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  []string
	}{
		{"", 5, nil},
		{" \n\u200b\u2060 ", 5, nil},
		{"abc", 3, []string{"abc"}},
		{"abcdef", 3, []string{"abc", "def"}},
		{"  abc  def  ", 4, []string{"abc", "def"}},
		{"aa\n\nbb\ncc dd", 7, []string{"aa", "bb", "cc dd"}},
		{"aaa bb\ncc\n\ndd ee ff", 13, []string{"aaa bb\ncc", "dd ee ff"}},
		{"a bbbbbbbb", 6, []string{"a", "bbbbbb", "bb"}},
		{"😀😀", 1, []string{"😀", "😀"}},
		{"a😀b", 2, []string{"a", "😀", "b"}},
		{"ab👩‍👩‍👧c", 9, []string{"ab", "👩‍👩‍👧c"}},
		{"🇩🇪🇫🇷", 6, []string{"🇩🇪", "🇫🇷"}},
		{"🇩🇪", 2, []string{"🇩", "🇪"}},
		{"xe\u0301e\u0301", 4, []string{"xe\u0301", "e\u0301"}},
		{"今日は。明日も晴れ", 6, []string{"今日は。", "明日も晴れ"}},
	} {
		var got []string
		for _, p := range Split(c.text, nil, c.limit) {
			got = append(got, p.Text)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q by %d: %q", c.text, c.limit, got)
		}
	}
}

// TestEntitiesGoOn: what spans a border is there on both sides of it.
func TestEntitiesGoOn(t *testing.T) {
	text, entities := Render("**one [two three](https://a.b) four**\n\n```go\nfunc a() {\n\tb()\n}\nfunc c() {\n\td()\n}\n```")
	var got []string
	for _, p := range Split(text, entities, 24) {
		got = append(got, show(p))
	}
	want := []string{
		"one two three four\n  bold 0+18 \"one two three four\"\n  text_linkhttps://a.b 4+9 \"two three\"\n",
		"func a() {\n    b()\n}\n  prego 0+20 \"func a() {\\n    b()\\n}\"\n",
		"func c() {\n    d()\n}\n  prego 0+20 \"func c() {\\n    d()\\n}\"\n",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	got = nil
	for _, p := range Split(text[:18], entities[:2], 9) {
		got = append(got, show(p))
	}
	want = []string{
		"one two\n  bold 0+7 \"one two\"\n  text_linkhttps://a.b 4+3 \"two\"\n",
		"three\n  bold 0+5 \"three\"\n  text_linkhttps://a.b 0+5 \"three\"\n",
		"four\n  bold 0+4 \"four\"\n",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestParts(t *testing.T) {
	for _, empty := range []string{"", " ", "\n\n", "```\n```", "\u200b", "\x00", "&nbsp;", "\u2800\ufffc", "#", "\ufeff"} {
		for _, got := range [][]Part{Parts(empty), Plain(empty)} {
			if len(got) != 1 || !visible(got[0].Text) {
				t.Errorf("%q: %v", empty, got)
			}
		}
	}
	long := strings.Repeat("x", 100_000)
	if got := Parts(long); len(got) != 25 || Units(got[0].Text) != MaxUnits {
		t.Errorf("%d parts", len(got))
	}
	quotes := strings.Repeat("> \"x\" <y>\n>\n", 2000)
	if got := Parts(quotes); len(got) < 3 {
		t.Errorf("%d parts", len(got))
	}
}

// TestMany: neither the number of entities nor their addresses make a request too large, and none is lost.
func TestMany(t *testing.T) {
	address := "https://a.example/" + strings.Repeat("&", 1900)
	for _, c := range []struct {
		markdown string
		times    int
	}{
		{"**b** ", 1000},
		{"[x](" + address + ")\n\n", 50},
		{"```" + strings.Repeat("c", 32) + "\n\"<&>\"\n```\n", 300},
		{"\"<&>\"", 3000},
	} {
		parts := Parts(strings.Repeat(c.markdown, c.times))
		n := 0
		for _, p := range parts {
			n += len(p.Entities)
			body, err := json.Marshal(struct {
				Text     string   `json:"text"`
				Entities []Entity `json:"entities"`
			}{p.Text, p.Entities})
			if err != nil || len(body) > maxPart || len(p.Entities) > MaxEntities || Units(p.Text) > MaxUnits {
				t.Fatalf("%d bytes, %d entities, %v", len(body), len(p.Entities), err)
			}
		}
		if strings.Contains(c.markdown, "x") || strings.Contains(c.markdown, "b") {
			if n != c.times {
				t.Errorf("%.20q: %d entities of %d", c.markdown, n, c.times)
			}
		}
	}
}

func TestUnits(t *testing.T) {
	for s, want := range map[string]int{"": 0, "a": 1, "é": 1, "語": 1, "😀": 2, "👩‍👩‍👧": 8, "a\xff": 2} {
		if got := Units(s); got != want || got != len(utf16.Encode([]rune(s))) {
			t.Errorf("%q: %d", s, got)
		}
	}
}
