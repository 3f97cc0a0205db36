package files

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestList(t *testing.T) {
	b := newBench(t, map[string]string{
		"b.txt": "12345", ".hidden": "x", "a/x.txt": "1", "a/deep/er/y.txt": "22", ".git/config": "x", "A.txt": "",
		"new\nline": "x", "esc\x1b[2J": "x", "bad\xff": "x", " space": "x", "bidi\u202etxt": "x", "ünï.txt": "x",
	})
	b.link("in", "a/x.txt")
	b.link("indir", "a")
	b.link("gone", "a/none.txt")
	b.link("out", "../outside/secret.txt")
	b.link("abs", "/etc/passwd")
	b.link("loop", "loop")
	top := []string{
		`" space" (1 bytes)`, ".git/", ".hidden (1 bytes)", "A.txt (0 bytes)", "a/", "abs (link that leads outside of the workspace)", "b.txt (5 bytes)",
		`"bad\xff" (1 bytes)`, `"bidi\u202etxt" (1 bytes)`, `"esc\x1b[2J" (1 bytes)`, "gone -> a/none.txt (does not exist)", "in -> a/x.txt",
		"indir -> a/", "loop (link: leads through too many links)", `"new\nline" (1 bytes)`, "out (link that leads outside of the workspace)",
		"ünï.txt (1 bytes)",
	}
	if got, want := b.ok("list_dir", args{}).Text, strings.Join(top, "\n")+"\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, c := range []struct {
		a    args
		want string
	}{
		{args{"path": "a"}, "deep/\nx.txt (1 bytes)\n"},
		{args{"path": "indir"}, "deep/\nx.txt (1 bytes)\n"},
		{args{"path": b.at("a")}, "deep/\nx.txt (1 bytes)\n"},
		{args{"path": "a", "depth": 2}, "deep/\ndeep/er/\nx.txt (1 bytes)\n"},
		{args{"path": "a", "depth": 3}, "deep/\ndeep/er/\ndeep/er/y.txt (2 bytes)\nx.txt (1 bytes)\n"},
		{args{"path": "a", "depth": 99}, "deep/\ndeep/er/\ndeep/er/y.txt (2 bytes)\nx.txt (1 bytes)\n"},
		{args{"path": ".git"}, "config (1 bytes)\n"},
	} {
		if got := b.ok("list_dir", c.a).Text; got != c.want {
			t.Errorf("%v: %q", c.a, got)
		}
	}
	if got := b.ok("list_dir", args{"depth": 3}).Text; strings.Contains(got, ".git/config") || !strings.Contains(got, "a/deep/er/\n") {
		t.Errorf("got\n%s", got)
	}
	b.mkdir("empty")
	if got := b.ok("list_dir", args{"path": "empty"}).Text; got != "[the folder is empty]\n" {
		t.Errorf("got %q", got)
	}
	b.fails("list_dir", args{"path": "b.txt"}, "b.txt is not a folder")
	b.fails("list_dir", args{"path": "none"}, "none does not exist")
	b.fails("list_dir", args{"path": "gone"}, "gone does not exist")
}

func TestTenThousandEntries(t *testing.T) {
	b := newBench(t, nil)
	b.mkdir("many")
	for i := range 10_000 {
		b.must(os.WriteFile(b.at(fmt.Sprintf("many/%05d.txt", i)), []byte("line\n"), 0o600))
	}
	r := b.ok("list_dir", args{"path": "many"})
	lines := strings.Split(strings.TrimSpace(r.Text), "\n")
	if len(lines) != maxEntries+1 || lines[0] != "00000.txt (5 bytes)" || lines[499] != "00499.txt (5 bytes)" ||
		!strings.HasPrefix(lines[500], "[9500 more are not shown") {
		t.Errorf("%d lines, the last one is %q", len(lines), lines[len(lines)-1])
	}
	if r := b.ok("list_dir", args{"depth": 3}); !strings.Contains(r.Text, "[9501 more") {
		t.Errorf("got %q", r.Text[len(r.Text)-90:])
	}
	if r := b.ok("search_files", args{"pattern": "line"}); strings.Count(r.Text, "\n") != maxHits+1 || !strings.Contains(r.Text, "ended early: 100 lines") {
		t.Errorf("got %q", r.Text[len(r.Text)-90:])
	}
	if r := b.ok("search_files", args{"pattern": "none"}); r.Text != "[no line found]\n" {
		t.Errorf("got %q", r.Text)
	}
}
