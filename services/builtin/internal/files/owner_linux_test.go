package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

const nobody = 65534

// asNobody runs f as a user whom permissions bind. Root becomes another one for files, in one thread that ends with f.
func (b *bench) asNobody(f func()) {
	b.t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := syscall.Setfsuid(nobody)
		if err == nil {
			f()
		}
		done <- err
	}()
	b.must(<-done)
}

// give makes the workspace nobody's, where root runs this.
func (b *bench) give() {
	b.t.Helper()
	b.must(os.Chmod(filepath.Dir(b.top), 0o755))
	if os.Geteuid() != 0 {
		return
	}
	b.must(filepath.WalkDir(b.top, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, -1)
	}))
	b.kit.owner = nobody
}

func TestPermissionDenied(t *testing.T) {
	b := newBench(t, map[string]string{"closed/a.txt": "word", "secret.txt": "word", "open.txt": "word", "fixed/a.txt": "word"})
	b.must(os.Chmod(b.at("secret.txt"), 0o200))
	b.must(os.Chmod(b.at("closed"), 0o000))
	b.must(os.Chmod(b.at("fixed"), 0o500))
	b.give()
	defer func() { b.must(errors.Join(os.Chmod(b.at("closed"), 0o700), os.Chmod(b.at("fixed"), 0o700))) }()
	b.asNobody(func() {
		b.fails("read_file", args{"path": "secret.txt"}, "secret.txt: permission denied")
		b.fails("edit_file", args{"path": "secret.txt", "old": "word", "new": "x"}, "secret.txt: permission denied")
		for name, a := range map[string]args{
			"read_file": {"path": "closed/a.txt"}, "list_dir": {"path": "closed"}, "write_file": {"path": "closed/b.txt", "content": "x"},
		} {
			b.fails(name, a, "permission denied")
		}
		if got := b.ok("search_files", args{"pattern": "word"}).Text; got != "fixed/a.txt:1: word\nopen.txt:1: word\n[not searched: 2 unreadable]\n" {
			t.Errorf("got %q", got)
		}
		if got := b.ok("list_dir", args{"depth": 2}).Text; got != "closed/\nclosed/ (cannot be listed: permission denied)\nfixed/\nfixed/a.txt (4 bytes)\n"+
			"open.txt (4 bytes)\nsecret.txt (4 bytes)\n" {
			t.Errorf("got %q", got)
		}
		b.fails("write_file", args{"path": "fixed/a.txt", "content": "x"}, "fixed/a.txt: permission denied")
		b.fails("write_file", args{"path": "fixed/new.txt", "content": "x"}, "fixed/new.txt: permission denied")
		b.fails("write_file", args{"path": "fixed/new/new.txt", "content": "x"}, "permission denied")
		b.ok("write_file", args{"path": "open.txt", "content": "x"})
	})
	b.wants("fixed/a.txt", "word")
	b.leftovers("fixed")
}

func TestReadOnlyWorkspace(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "word", "MEMORY.md": "- note"})
	b.must(os.Chmod(b.dir, 0o500))
	defer func() { b.must(os.Chmod(b.dir, 0o700)) }()
	b.give()
	b.allowed = true
	b.asNobody(func() {
		b.ok("read_file", args{"path": "a.txt"})
		b.ok("recall", args{})
		b.fails("write_file", args{"path": "a.txt", "content": "x"}, "a.txt: permission denied")
		b.fails("write_file", args{"path": "b.txt", "content": "x"}, "b.txt: permission denied")
		b.fails("edit_file", args{"path": "a.txt", "old": "word", "new": "x"}, "a.txt: permission denied")
		b.fails("remember", args{"text": "x"}, "MEMORY.md: permission denied")
	})
	b.wants("a.txt", "word")
	b.leftovers(".")
}

// TestOwnerStays is about a file of another user: its text must not become the agent's own by an edit. An ordinary user
// cannot make such a file, nor give one back; here the old file's owner is one that the new file cannot get.
func TestOwnerStays(t *testing.T) {
	b := newBench(t, map[string]string{"theirs.txt": "word"})
	if os.Geteuid() != 0 {
		f, err := os.Create(b.at("new"))
		b.must(err)
		defer f.Close()
		other, err := os.Stat("/etc/passwd")
		b.must(err)
		if err := fill(f, other, true, nil); err == nil {
			t.Error("an edit makes another user's text the agent's own")
		}
		if err := fill(f, other, false, nil); err != nil {
			t.Errorf("a file that is all new: %v", err)
		}
		return
	}
	b.must(os.Chown(b.at("theirs.txt"), nobody, nobody))
	b.ok("edit_file", args{"path": "theirs.txt", "old": "word", "new": "x"})
	b.ok("write_file", args{"path": "theirs.txt", "content": "y", "append": true})
	info, err := os.Stat(b.at("theirs.txt"))
	b.must(err)
	if uid, gid, ok := owner(info); !ok || uid != nobody || gid != nobody {
		t.Errorf("owner is %d:%d", uid, gid)
	}
	if r := b.ok("read_file", args{"path": "theirs.txt"}); r.Text != "xy" || !r.Untrusted {
		t.Errorf("got %+v", r)
	}
	b.give()
	b.must(os.Chown(b.at("theirs.txt"), 0, 0))
	b.must(os.Chmod(b.at("theirs.txt"), 0o644))
	b.asNobody(func() {
		b.refused("edit_file", args{"path": "theirs.txt", "old": "x", "new": "z"}, "belongs to another user")
		b.refused("write_file", args{"path": "theirs.txt", "content": "z", "append": true}, "belongs to another user")
		b.ok("write_file", args{"path": "theirs.txt", "content": "z"}) // nothing of theirs is left
	})
	b.leftovers(".")
}
