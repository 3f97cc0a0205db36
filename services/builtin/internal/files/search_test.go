package files

import (
	"strings"
	"testing"
)

func TestSearch(t *testing.T) {
	b := newBench(t, map[string]string{
		"a.md": "# Title\nThe first line\nthe SECOND line\n", "notes/b.md": "first\r\nsecond\r\n", "notes/deep/c.txt": "third (first?)",
		"bin": "first\x00", ".git/HEAD": "first", "x/node_modules/y.js": "first", "bom.txt": mark + "first", "new\nline.txt": "first",
		"long.txt": strings.Repeat("x", 5000) + "needle" + strings.Repeat("y", 5000), "latin": "first \xff", "empty": "", "blank": "\n\n",
		"large.txt": strings.Repeat("first\n", 400_000), ".hidden": "first",
	})
	b.link("link.md", "a.md")
	b.link("out.txt", "../outside/secret.txt")
	skipped := "[not searched: 2 binary, 1 larger than 2 MiB]\n"
	for _, c := range []struct {
		a    args
		want string
	}{
		{
			args{"pattern": "first"},
			".hidden:1: first\na.md:2: The first line\nbom.txt:1: first\n\"new\\nline.txt\":1: first\nnotes/b.md:1: first\nnotes/deep/c.txt:1: third (first?)\n" + skipped,
		},
		{args{"pattern": "^first$", "path": "notes"}, "notes/b.md:1: first\n"},
		{args{"pattern": "(?i)second"}, "a.md:3: the SECOND line\nnotes/b.md:2: second\n" + skipped},
		{args{"pattern": "(first?)", "literal": true}, "notes/deep/c.txt:1: third (first?)\n" + skipped},
		{args{"pattern": "first", "glob": "*.md"}, "a.md:2: The first line\nnotes/b.md:1: first\n"},
		{args{"pattern": "first", "glob": "notes/**"}, "notes/b.md:1: first\nnotes/deep/c.txt:1: third (first?)\n"},
		{args{"pattern": "first", "glob": "deep/*.txt", "path": "notes"}, "notes/deep/c.txt:1: third (first?)\n"},
		{args{"pattern": "first", "path": "link.md"}, "a.md:2: The first line\n"},
		{args{"pattern": "first", "path": ".git"}, ".git/HEAD:1: first\n"},
		{args{"pattern": "line", "path": "a.md", "limit": 1}, "a.md:2: The first line\n[the search ended early: 1 lines found; narrow it by path, glob or pattern]\n"},
		{args{"pattern": "^$", "glob": "{empty,blank,a.md}"}, "blank:1: \nblank:2: \n"},
		{args{"pattern": "nowhere", "glob": "*.md"}, "[no line found]\n"},
		{
			args{"pattern": "needle", "glob": "long*"},
			"long.txt:1: …" + strings.Repeat("x", 75) + "needle" + strings.Repeat("y", 219) + "…\n",
		},
	} {
		if got := b.ok("search_files", c.a).Text; got != c.want {
			t.Errorf("%v: got\n%swant\n%s", c.a, got, c.want)
		}
	}
	b.refused("search_files", args{"pattern": "(a"}, "missing closing )")
	b.refused("search_files", args{"pattern": `a(?!b)`}, "no regular expression (RE2)")
	b.refused("search_files", args{"pattern": ""}, "the pattern is empty")
	b.refused("search_files", args{"pattern": strings.Repeat("a", maxPattern+1)}, "more than 1000 bytes")
	b.refused("search_files", args{"pattern": "a", "glob": "[a"}, "a [ has no ]")
	b.refused("search_files", args{"pattern": "a", "glob": "{a"}, "a { has no }")
	b.refused("search_files", args{"pattern": "a", "glob": "[z-a]"}, "cannot be read")
	b.fails("search_files", args{"pattern": "a", "path": "none"}, "none does not exist")
}

func TestLongAnswersEnd(t *testing.T) {
	b := newBench(t, map[string]string{"f": strings.Repeat(strings.Repeat("ü", 1000)+"\n", 300)})
	if r := b.ok("search_files", args{"pattern": "."}); len(r.Text) > maxRead+1000 || !strings.Contains(r.Text, "ended early") {
		t.Errorf("%d bytes", len(r.Text))
	}
}

func TestGlob(t *testing.T) {
	for pattern, c := range map[string]struct{ yes, no string }{
		"*.go":          {"a.go x/a.go x/y/.go", "a.gox ago a.go/x"},
		"a?c":           {"abc x/aéc", "ac abbc"},
		"**/*.go":       {"a.go x/a.go x/y/a.go", "a.go/b"},
		"x/*.go":        {"x/a.go", "a.go x/y/a.go y/x/a.go"},
		"x/**/a.go":     {"x/a.go x/y/a.go x/y/z/a.go", "a.go y/a.go"},
		"x/**":          {"x/a x/y/z", "xa y/x/a"},
		"/x/a":          {"x/a", "y/x/a"},
		"./x/a":         {"x/a", "y/x/a"},
		"*.{ts,tsx}":    {"a.ts x/b.tsx", "a.js a.{ts,tsx}"},
		"[a-c].txt":     {"a.txt x/c.txt", "d.txt -.txt"},
		"[!a-c].txt":    {"d.txt", "a.txt"},
		"a.b+c(d)|e$^":  {"a.b+c(d)|e$^", "axb+c(d)|e$^"},
		"grün*":         {"grün.txt", "grun.txt"},
		"a,b}":          {"a,b}", "a"},
		`back\d`:        {`back\d`, "back1"},
		"[\\d[^].txt":   {"d.txt", "1.txt"},
		"notes/{a,b}/*": {"notes/a/x notes/b/y", "notes/c/x notes/a"},
	} {
		match, err := glob(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		for path := range strings.FieldsSeq(c.yes) {
			if !match(path) {
				t.Errorf("%s does not match %s", pattern, path)
			}
		}
		for path := range strings.FieldsSeq(c.no) {
			if match(path) {
				t.Errorf("%s matches %s", pattern, path)
			}
		}
	}
}
