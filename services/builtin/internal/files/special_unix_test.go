//go:build unix

package files

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

// TestPipesAndSockets must end: a pipe that nobody writes to is waited for by whoever opens it to read.
func TestPipesAndSockets(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "text"})
	b.must(syscall.Mkfifo(b.at("pipe"), 0o600))
	var config net.ListenConfig
	t.Chdir(b.dir) // the path of a socket may have only 100 bytes
	l, err := config.Listen(t.Context(), "unix", "socket")
	b.must(err)
	defer l.Close()
	b.link("topipe", "pipe")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, path := range []string{"pipe", "socket", "topipe"} {
		for name, a := range map[string]args{
			"read_file": {"path": path}, "write_file": {"path": path, "content": "x"}, "edit_file": {"path": path, "old": "x", "new": "y"},
		} {
			if r, err := b.with(ctx, name, a); !tool.IsRefusal(err) || !strings.Contains(err.Error(), "is neither a file nor a folder") {
				t.Errorf("%s %s: %v, %q", name, path, err, r.Text)
			}
		}
		b.fails("read_file", args{"path": path + "/x"}, "is not a folder")
	}
	if got := b.ok("search_files", args{"pattern": "."}).Text; got != "a.txt:1: text\n" {
		t.Errorf("got %q", got)
	}
	if got := b.ok("list_dir", args{}).Text; got != "a.txt (4 bytes)\npipe (pipe)\nsocket (socket)\ntopipe -> pipe\n" {
		t.Errorf("got %q", got)
	}
	b.allowed = true
	b.must(syscall.Mkfifo(b.at("MEMORY.md"), 0o600))
	b.refused("remember", args{"text": "x"}, "neither a file")
	b.refused("recall", args{}, "neither a file")
}

// TestDevices takes the system's own for a workspace: a device would have an effect when it is opened.
func TestDevices(t *testing.T) {
	b := newBench(t, nil)
	b.dir = "/dev"
	for _, path := range []string{"null", "zero", "tty"} {
		b.refused("read_file", args{"path": path}, "is neither a file nor a folder")
		b.refused("write_file", args{"path": path, "content": "x"}, "is neither a file nor a folder")
		b.refused("edit_file", args{"path": path, "old": "x", "new": "y"}, "is neither a file nor a folder")
	}
	if got := b.ok("list_dir", args{}).Text; !strings.Contains(got, "null (device)\n") {
		t.Errorf("got %q", got)
	}
}

// TestFileBecomesPipe must end, too.
func TestFileBecomesPipe(t *testing.T) {
	b := newBench(t, map[string]string{"a": "inside"})
	s, err := b.kit.open(tool.Call{Workspace: b.dir})
	b.must(err)
	defer s.close()
	p, err := s.walk("a")
	b.must(err)
	b.must(os.Remove(b.at("a")))
	b.must(syscall.Mkfifo(b.at("a"), 0o600))
	if _, _, err := p.file(); !errors.Is(err, errChanged) {
		t.Errorf("got %v", err)
	}
}

// TestFileSwappedWhileReading puts a link to the outside, a pipe and a file in the same place by turns.
func TestFileSwappedWhileReading(t *testing.T) {
	b := newBench(t, map[string]string{"a": "inside", "keep": "inside"})
	b.must(syscall.Mkfifo(b.at("pipe"), 0o600))
	done := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			_ = os.Remove(b.at("next")) // two names of one file are not renamed to one
			var err error
			if i%3 == 0 {
				err = os.Symlink("../outside/secret.txt", b.at("next"))
			} else {
				err = os.Link(b.at([]string{"keep", "pipe"}[i%3-1]), b.at("next"))
			}
			if err == nil {
				err = os.Rename(b.at("next"), b.at("a"))
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 1000 {
		if r, err := b.call("read_file", args{"path": "a"}); err == nil && r.Text != "inside" {
			t.Errorf("read %q", r.Text)
		}
	}
	for range 100 {
		if r, err := b.call("search_files", args{"pattern": ".*"}); err != nil || strings.Contains(r.Text, outsideText) {
			t.Errorf("found %q, %v", r.Text, err)
		}
	}
	close(done)
	swapper.Wait()
}
