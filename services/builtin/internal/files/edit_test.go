package files

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEdit(t *testing.T) {
	for name, c := range map[string]struct {
		text, old, new string
		all            bool
		want           string // of the file
		says           string
	}{
		"a word":                    {"one\ntwo\n", "two", "2", false, "one\n2\n", "changed f at line 2"},
		"lines":                     {"a\nb\nc\n", "a\nb\n", "x\n", false, "x\nc\n", "changed f at line 1"},
		"away":                      {"a\nb\nc\n", "b\n", "", false, "a\nc\n", "changed f at line 2"},
		"all":                       {"a a\na\n", "a", "b", true, "b b\nb\n", "in 3 places, at lines 1, 1, 2"},
		"all of one":                {"a\n", "a", "b", true, "b\n", "changed f at line 1"},
		"all, overlapping":          {"aaa", "aa", "b", true, "ba", "changed f at line 1"},
		"all, again":                {"aa", "a", "aa", true, "aaaa", "in 2 places"},
		"crlf, a word":              {"one\r\ntwo\r\n", "two", "2", false, "one\r\n2\r\n", ""},
		"crlf, lines":               {"a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", false, "x\r\ny\r\nc\r\n", ""},
		"crlf, new lines":           {"a\r\nb\r\n", "a", "x\ny", false, "x\r\ny\r\nb\r\n", ""},
		"crlf, given as such":       {"a\r\nb\r\n", "a\r\nb", "x\r\ny", false, "x\r\ny\r\n", ""},
		"crlf given, lf in file":    {"a\nb\n", "a\r\nb", "x\r\ny", false, "x\ny\n", ""},
		"crlf, all":                 {"a\r\nb\r\na\r\nb\r\n", "a\nb", "c\nd\ne", true, "c\r\nd\r\ne\r\nc\r\nd\r\ne\r\n", "at lines 1, 3"},
		"crlf, from its end":        {"a\r\nb\r\n", "\nb", "\nc", false, "a\r\nc\r\n", ""},
		"crlf, up to its end":       {"a\r\nb\r\n", "a\n", "c\n", false, "c\r\nb\r\n", ""},
		"mixed, in the crlf part":   {"a\r\nb\r\nc\nd\n", "a\nb", "x\ny", false, "x\r\ny\r\nc\nd\n", ""},
		"mixed, in the lf part":     {"a\r\nb\r\nc\nd\n", "c\nd", "x\ny", false, "a\r\nb\r\nx\ny\n", ""},
		"mark stays":                {mark + "a\n", "a", "b", false, mark + "b\n", ""},
		"mark and the first line":   {mark + "a\r\nb\r\n", "a\nb", "c", false, mark + "c\r\n", ""},
		"special signs are literal": {"a.*$1\n", ".*$1", "${0}\\1", false, "a${0}\\1\n", ""},
		"other scripts":             {"grün ✓ 🙂\n", "✓", "✗", false, "grün ✗ 🙂\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]string{"f": c.text})
			r := b.ok("edit_file", args{"path": "f", "old": c.old, "new": c.new, "all": c.all})
			b.wants("f", c.want)
			if !strings.Contains(r.Text, c.says) {
				t.Errorf("says %q, want %q", r.Text, c.says)
			}
			b.leftovers(".")
		})
	}
}

func TestEditRefused(t *testing.T) {
	text := "func main() {\n\tfmt.Println(\"hello\")\n}\n\nfunc other() {\n\tfmt.Println(\"hello\")\n}\n"
	for name, c := range map[string]struct{ old, new, want string }{
		"several":         {"fmt.Println(\"hello\")", "x", "more than once in f, at lines 2, 6: add the lines around"},
		"overlapping":     {"\n\n", "x", "not in f"},
		"white space":     {"    fmt.Println(\"hello\")\n}", "x", "line 2 is like its beginning: compare the white space"},
		"almost":          {"fmt.Println(\"hallo\")", "x", `line 2 is most like it: "\tfmt.Println(\"hello\")"`},
		"nothing like it": {"something else entirely", "x", "look at it with read_file"},
		"blank":           {"\n\n\n", "x", "look at it with read_file"},
		"empty":           {"", "x", "old is empty"},
		"the same":        {"main", "main", "old and new are the same"},
		"the same lines":  {"{\n", "{\r\n", "old and new are the same"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]string{"f": strings.Replace(text, "}\n\nfunc", "}\nfunc", 1)})
			if name == "several" {
				b.put("f", text)
			}
			was := b.has("f")
			b.fails("edit_file", args{"path": "f", "old": c.old, "new": c.new}, c.want)
			b.wants("f", was)
		})
	}
	b := newBench(t, map[string]string{"f": "aaa", "many": strings.Repeat("line\n", 1000)})
	b.fails("edit_file", args{"path": "f", "old": "aa", "new": "b"}, "more than once")
	b.fails("edit_file", args{"path": "many", "old": "line", "new": "b"}, "18, 19, 20 and more")
	b.fails("edit_file", args{"path": "none", "old": "aa", "new": "b"}, "none does not exist")
	b.mkdir("dir")
	b.fails("edit_file", args{"path": "dir", "old": "aa", "new": "b"}, "dir is a folder")
}

// TestEditIsReplacement compares with what strings.Replace does to the text as a model sees it; and a file that has only
// one kind of line end keeps it.
func TestEditIsReplacement(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "b", "ab", "ü", " ", "\t"})
	rapid.Check(t, func(rt *rapid.T) {
		ends := rapid.SampledFrom([][]string{{"\n"}, {"\r\n"}, {"\n", "\r\n"}}).Draw(rt, "ends")
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(word, word, rapid.SampledFrom(ends)), 1, 30).Draw(rt, "text"), "")
		flat := lf(text)
		from := rapid.IntRange(0, len(flat)-1).Draw(rt, "from")
		old := flat[from:rapid.IntRange(from+1, len(flat)).Draw(rt, "to")]
		a := editArgs{Path: "f", Old: old, All: rapid.Bool().Draw(rt, "all")}
		a.New = strings.Join(rapid.SliceOfN(rapid.OneOf(word, rapid.SampledFrom([]string{"\n", "\r\n"})), 0, 6).Draw(rt, "new"), "")
		if rapid.Bool().Draw(rt, "as the file") && len(ends) == 1 {
			a.Old = strings.ReplaceAll(old, "\n", ends[0])
		}
		out, lines, err := substitute(text, a)
		i := strings.Index(flat, old)
		once := i == strings.LastIndex(flat, old)
		if (err == nil) != (a.All || once) {
			rt.Fatalf("%q: %v", old, err)
		}
		if err != nil {
			return
		}
		if want := strings.ReplaceAll(flat, old, lf(a.New)); lf(out) != want {
			rt.Fatalf("got %q, want %q", out, want)
		}
		if want := 1 + strings.Count(flat[:i], "\n"); lines[0] != want {
			rt.Fatalf("line %d, want %d", lines[0], want)
		}
		bare := strings.Count(out, "\n") - strings.Count(out, "\r\n")
		if len(ends) == 1 && ends[0] == "\n" && strings.Contains(out, "\r\n") || strings.Contains(text, "\n") && len(ends) == 1 && ends[0] == "\r\n" && bare > 0 {
			rt.Fatalf("other line ends: %q became %q", text, out)
		}
		raw := restore(text)
		if !strings.HasPrefix(out, text[:raw(i)]) {
			rt.Fatalf("%q: what stands before was changed: %q", text, out)
		}
		if j := raw(strings.LastIndex(flat, old) + len(old)); once && !strings.HasSuffix(out, text[j:]) {
			rt.Fatalf("%q: what stands behind was changed: %q", text, out)
		}
	})
}
