package files

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
)

func TestWrite(t *testing.T) {
	b := newBench(t, map[string]string{"old.txt": "old text", "run.sh": "x"})
	b.must(os.Chmod(b.at("run.sh"), 0o750))
	for _, c := range []struct {
		a    args
		want string
		says string
	}{
		{args{"path": "new.txt", "content": "text"}, "text", "created new.txt: 4 bytes"},
		{args{"path": "a/b/c.txt", "content": "text"}, "text", "created a/b/c.txt: 4 bytes"},
		{args{"path": "a/b/d.txt", "content": ""}, "", "created a/b/d.txt: 0 bytes"},
		{args{"path": "old.txt", "content": "ünd"}, "ünd", "replaced old.txt: 4 bytes, it had 8"},
		{args{"path": "old.txt", "content": "!\n", "append": true}, "ünd!\n", "added 2 bytes to old.txt: it has 6 now"},
		{args{"path": "more.txt", "content": "more", "append": true}, "more", "created more.txt: 4 bytes"},
		{args{"path": "run.sh", "content": "y"}, "y", "replaced run.sh"},
		{args{"path": b.at("abs.txt"), "content": "y"}, "y", "created abs.txt"},
		{args{"path": "crlf.txt", "content": "a\r\n"}, "a\r\n", "created"},
		{args{"path": "line\u2028sep ", "content": "a"}, "a", `created "line\u2028sep "`},
	} {
		if r := b.ok("write_file", c.a); !strings.Contains(r.Text, c.says) {
			t.Errorf("%v: %q", c.a, r.Text)
		}
		b.wants(strings.TrimPrefix(c.a["path"].(string), b.dir+"/"), c.want)
	}
	for name, want := range map[string]fs.FileMode{"run.sh": 0o750, "new.txt": fileMode, "a": dirMode | fs.ModeDir, "a/b": dirMode | fs.ModeDir} {
		if info, err := os.Stat(b.at(name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	b.leftovers(".")
	b.leftovers("a/b")

	b.must(os.Chmod(b.at("old.txt"), 0o440))
	b.refused("write_file", args{"path": "old.txt", "content": "x"}, "old.txt is read-only")
	b.fails("write_file", args{"path": "a", "content": "x"}, "a is a folder")
	b.fails("write_file", args{"path": ".", "content": "x"}, ". is a folder")
	b.fails("write_file", args{"path": "run.sh/x", "content": "x"}, "is not a folder")
	b.refused("write_file", args{"path": "a\nb", "content": "x"}, `"a\nb": a name with control characters`)
	b.refused("write_file", args{"path": "a\x1b[2J/b", "content": "x"}, "control characters")
	b.fails("write_file", args{"path": strings.Repeat("x", 300), "content": "x"}, "name too long")
	b.wants("old.txt", "ünd!\n")
}

// TestWriteIsWhole reads a file all the time while it is written: it is one text or the other.
func TestWriteIsWhole(t *testing.T) {
	one, two := strings.Repeat("1", 200_000), strings.Repeat("2", 300_000)
	b := newBench(t, map[string]string{"f": one})
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			data, err := os.ReadFile(b.at("f"))
			if err != nil || string(data) != one && string(data) != two {
				t.Errorf("%d bytes, %v", len(data), err)
				return
			}
		}
	})
	for range 8 {
		b.ok("write_file", args{"path": "f", "content": two})
		b.ok("write_file", args{"path": "f", "content": one})
	}
	close(done)
	reader.Wait()
}

// TestNoChangeIsLost makes many changes of one file at once.
func TestNoChangeIsLost(t *testing.T) {
	b := newBench(t, map[string]string{"f": ""})
	b.allowed = true
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for _, c := range []struct {
				name string
				a    args
			}{
				{"write_file", args{"path": "f", "content": fmt.Sprintf("line %d\n", i), "append": true}},
				{"edit_file", args{"path": "f", "old": fmt.Sprintf("line %d\n", i), "new": fmt.Sprintf("Zeile %d\n", i)}},
				{"remember", args{"text": fmt.Sprintf("note %d.", i)}},
			} {
				if r, err := b.call(c.name, c.a); err != nil || r.Failed {
					t.Errorf("%s: %v, %s", c.name, err, r.Text)
				}
			}
		})
	}
	all.Wait()
	for i := range 20 {
		if !strings.Contains(b.has("f"), fmt.Sprintf("Zeile %d\n", i)) || !strings.Contains(b.has("MEMORY.md"), fmt.Sprintf("note %d.\n", i)) {
			t.Errorf("%d was lost", i)
		}
	}
}
