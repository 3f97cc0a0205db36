package private_test

import (
	"io/fs"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/cmd/internal/private"
)

// file is what a stat of a file says.
type file struct {
	mode fs.FileMode
	sys  any
}

func (f file) Name() string       { return "secret" }
func (f file) Size() int64        { return 1 }
func (f file) Mode() fs.FileMode  { return f.mode }
func (f file) ModTime() time.Time { return time.Time{} }
func (f file) IsDir() bool        { return false }
func (f file) Sys() any           { return f.sys }

func TestModes(t *testing.T) {
	for mode, want := range map[fs.FileMode]bool{
		0o600: true, 0o400: true, 0o700: true, 0o000: true,
		0o640: false, 0o440: false, 0o604: false, 0o660: false, 0o644: false, 0o610: false,
	} {
		if got := private.File(file{mode: mode}); got != want { // of nobody knows whom
			t.Errorf("%04o: %v", mode, got)
		}
	}
}

// TestOurOwn has a real file: whoever runs the tests owns it, so that a group that can read it is not the exception.
func TestOurOwn(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // modes say nothing there
	}
	path := t.TempDir() + "/secret"
	for mode, want := range map[fs.FileMode]bool{0o600: true, 0o440: false, 0o444: false} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := private.File(st); got != want {
			t.Errorf("%04o: %v", mode, got)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
