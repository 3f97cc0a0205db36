package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

// tries calls every tool that takes a path with this one.
func (b *bench) tries(path string, check func(name string, r tool.Result, err error)) {
	b.t.Helper()
	for name, a := range map[string]args{
		"read_file":    {"path": path},
		"list_dir":     {"path": path},
		"search_files": {"path": path, "pattern": "."},
		"write_file":   {"path": path, "content": "overwritten"},
		"edit_file":    {"path": path, "old": "not", "new": "now"},
	} {
		r, err := b.call(name, a)
		check(name, r, err)
	}
}

func TestNothingOutside(t *testing.T) {
	b := newBench(t, map[string]string{"sub/a.txt": "a", "file": "f"})
	b.link("abs", filepath.Join(b.top, "outside"))
	b.link("absfile", filepath.Join(b.top, "outside", "secret.txt"))
	b.link("absinside", b.at("file"))
	b.link("up", "..")
	b.link("upfile", "../outside/secret.txt")
	b.link("sub/up", "../../outside")
	b.link("chain1", "chain2")
	b.link("chain2", "sub/up/secret.txt")
	b.link("newfile", "../outside/new.txt")
	b.link("newdir", "../outside/new/deep")
	b.link("back", "sub/../../ws/file")
	b.link("loop", "loop")
	b.link("loop1", "loop2")
	b.link("loop2", "loop1")
	b.link("grow", "grow/x")
	b.link("proc", "/proc/self/root")
	b.allowed = true // even then
	for _, path := range []string{
		"..", "../", "../outside/secret.txt", "../../etc/passwd", "sub/../../outside/secret.txt", "./../outside/secret.txt",
		"sub/../../ws/../outside/secret.txt", "a/b/c/../../../../outside/secret.txt", "/", "/etc/passwd", "/etc/../etc/passwd",
		b.top, filepath.Join(b.top, "outside", "secret.txt"), b.dir + "/../outside/secret.txt", b.dir + "x", b.dir + "-other/file",
		"abs", "abs/secret.txt", "absfile", "absinside", "up", "up/outside/secret.txt", "upfile", "sub/up/secret.txt", "chain1", "newfile",
		"newdir/file", "newdir", "back", "loop", "loop1", "grow", "proc", "proc/etc/passwd", "", "~", "~/x", "a\x00b",
		"up/outside/new.txt", "abs/new/deep.txt",
	} {
		t.Run(path, func(t *testing.T) {
			b.t = t
			b.tries(path, func(name string, r tool.Result, err error) {
				if path == "" && (name == "list_dir" || name == "search_files") {
					return // the workspace
				}
				if !tool.IsRefusal(err) || r.Text != "" {
					t.Errorf("%s: got %v, %q, want a refusal", name, err, r.Text)
				}
			})
		})
	}
	b.t = t
	b.wants("../outside/secret.txt", outsideText)
	b.wants("file", "f")
	entries, err := os.ReadDir(filepath.Join(b.top, "outside"))
	if err != nil || len(entries) != 1 {
		t.Errorf("outside has %v, %v", entries, err)
	}
	b.leftovers(".")
	if got := b.ok("search_files", args{"pattern": "not in the"}).Text; strings.Contains(got, "secret") {
		t.Errorf("found %s", got)
	}
}

func TestPathsInside(t *testing.T) {
	b := newBench(t, map[string]string{"sub/a.txt": "text of a"})
	b.link("link", "sub/a.txt")
	b.link("sub/up", "..")
	b.link("dir", "sub")
	b.link("dirs", "./dir//")
	for _, path := range []string{
		"sub/a.txt", "./sub/a.txt", "sub//a.txt", "sub/../sub/a.txt", "link", "dir/a.txt", "dirs/a.txt", "sub/up/sub/up/link",
		"sub/up/dirs/a.txt", b.at("sub/a.txt"), b.at("link"), b.dir + "/sub/../link",
	} {
		if got := b.ok("read_file", args{"path": path}).Text; got != "text of a" {
			t.Errorf("%s: %q", path, got)
		}
	}
	b.ok("write_file", args{"path": "dirs/up/link", "content": "new"})
	b.wants("sub/a.txt", "new")
	if info, err := os.Lstat(b.at("link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced, not what it leads to")
	}
	b.link("../other", b.dir) // the same workspace by another name
	b.dir = filepath.Join(b.top, "other")
	for _, dir := range []string{b.dir, filepath.Join(b.top, "ws")} {
		if got := b.ok("read_file", args{"path": filepath.Join(dir, "link")}).Text; got != "new" {
			t.Errorf("%s: %q", dir, got)
		}
	}
}

// TestFolderSwappedWhileWriting swaps a folder for links that lead out and into skills, again and again, while it is
// written to.
func TestFolderSwappedWhileWriting(t *testing.T) {
	b := newBench(t, map[string]string{"sub/x": "0", "skills/s/SKILL.md": "s"})
	done, stop := make(chan struct{}), sync.WaitGroup{}
	stop.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			target := []string{"../outside", "skills", "skills/s", filepath.Join(b.top, "outside")}[i%4]
			// A write that finds no folder makes one: it is put away.
			for _, swap := range []func() error{
				func() error { return os.Rename(b.at("sub"), b.at("sub.real")) },
				func() error { return os.Symlink(target, b.at("sub")) },
				func() error { return os.Remove(b.at("sub")) },
				func() error { return os.Rename(b.at("sub.real"), b.at("sub")) },
			} {
				err := swap()
				for range 1000 {
					if err == nil {
						break
					}
					_ = os.RemoveAll(b.at("sub")) // somebody may be writing to it
					err = swap()
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for i := range 400 {
		name := []string{"x", "new", "SKILL.md"}[i%3]
		_, _ = b.call("write_file", args{"path": "sub/" + name, "content": "written"}) // whether one meets a quiet moment is chance
		if r, err := b.call("read_file", args{"path": "sub/secret.txt"}); err == nil {
			t.Fatalf("read %q", r.Text)
		}
	}
	close(done)
	stop.Wait()
	if _, err := b.call("write_file", args{"path": "sub/x", "content": "calm"}); err != nil {
		t.Error("the folder stands still again:", err)
	}
	b.wants("sub/x", "calm")
	b.wants("../outside/secret.txt", outsideText)
	b.wants("../outside/new", "(none)")
	b.wants("../outside/x", "(none)")
	b.wants("skills/x", "(none)")
	b.wants("skills/new", "(none)")
	b.wants("skills/s/SKILL.md", "s")
	for _, dir := range []string{"skills", "skills/s", "../outside"} {
		b.leftovers(dir)
	}
}

// TestSwappedAfterTheLook is the same in slow motion.
func TestSwappedAfterTheLook(t *testing.T) {
	b := newBench(t, map[string]string{"sub/x": "0", "file": "f", "skills/x": "s"})
	s, err := b.kit.open(tool.Call{Workspace: b.dir})
	b.must(err)
	defer s.close()
	folder, err := s.root.Lstat("sub")
	b.must(err)
	p, err := s.walk("file")
	b.must(err)
	b.must(os.Rename(b.at("sub"), b.at("gone")))
	b.must(os.Remove(b.at("file")))
	for _, target := range []string{"skills", "../outside"} {
		b.link("sub", target)
		b.link("file", target+"/secret.txt")
		if _, err := enter(s.root, "sub", folder); err == nil {
			t.Errorf("a link to %s was taken for the folder", target)
		}
		if _, _, err := p.file(); err == nil {
			t.Errorf("a link to %s was taken for the file", target)
		}
		b.must(os.Remove(b.at("sub")))
		b.must(os.Remove(b.at("file")))
	}
	b.must(os.Rename(b.at("skills/x"), b.at("file")))
	if _, _, err := p.file(); !errors.Is(err, errChanged) {
		t.Errorf("another file: %v", err)
	}
}

// TestLanding changes the workspace between the last check and the rename.
func TestLanding(t *testing.T) {
	for name, c := range map[string]struct {
		call    string
		a       args
		meddle  func(b *bench)
		message string
	}{
		"folder becomes a link out": {"write_file", args{"path": "sub/x", "content": "n"}, func(b *bench) {
			b.must(os.Rename(b.at("sub"), b.at("gone")))
			b.link("sub", "../outside")
		}, "outside"},
		"folder becomes a link to skills": {"write_file", args{"path": "sub/x", "content": "n"}, func(b *bench) {
			b.must(os.Rename(b.at("sub"), b.at("gone")))
			b.mkdir("skills")
			b.link("sub", "skills")
		}, "changed by somebody else"},
		"folder moves into skills": {"write_file", args{"path": "sub/x", "content": "n"}, func(b *bench) {
			b.mkdir("skills")
			b.must(os.Rename(b.at("sub"), b.at("skills/sub")))
			b.link("sub", "skills/sub")
		}, "changed by somebody else"},
		"another folder": {"write_file", args{"path": "sub/x", "content": "n"}, func(b *bench) {
			b.must(os.Rename(b.at("sub"), b.at("gone")))
			b.put("sub/x", "0")
		}, "changed by somebody else"},
		"the file was written to": {"edit_file", args{"path": "sub/x", "old": "0", "new": "n"}, func(b *bench) {
			b.put("sub/x", "0 and more")
		}, "changed by somebody else"},
		"the file was replaced": {"write_file", args{"path": "sub/x", "content": "n", "append": true}, func(b *bench) {
			b.put("sub/y", "0")
			b.must(os.Rename(b.at("sub/y"), b.at("sub/x")))
		}, "changed by somebody else"},
		"the file is a link now": {"write_file", args{"path": "sub/x", "content": "n"}, func(b *bench) {
			b.must(os.Remove(b.at("sub/x")))
			b.link("sub/x", "../AGENTS.md")
		}, "changed by somebody else"},
		"the file is a folder now": {"write_file", args{"path": "sub/new", "content": "n"}, func(b *bench) {
			b.mkdir("sub/new")
		}, "changed by somebody else"},
		"the file is there now": {"write_file", args{"path": "sub/new", "content": "n"}, func(b *bench) {
			b.put("sub/new", "theirs")
		}, "changed by somebody else"},
		"a prompt file is a link to it now": {"write_file", args{"path": "sub/x", "content": "n"}, func(b *bench) {
			b.link("SOUL.md", "sub/x")
		}, "no person has allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]string{"sub/x": "0", "AGENTS.md": "agents"})
			b.kit.landing = func() { c.meddle(b) }
			b.fails(c.call, c.a, c.message)
			b.wants("AGENTS.md", "agents")
			b.wants("../outside/x", "(none)")
			for _, name := range []string{"sub/x", "sub/new", "gone/x", "skills/x", "skills/sub/x"} {
				if data, err := os.ReadFile(b.at(name)); err == nil && string(data) == "n" {
					t.Errorf("%s was written", name)
				}
			}
		})
	}
}
