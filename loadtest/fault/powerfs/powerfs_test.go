package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// mounted is a file system that is in use. Needs root and /dev/fuse: without them the tests fail.
type mounted struct {
	t       *testing.T
	backing string
	dir     string
	in      *io.PipeWriter
	out     *bufio.Scanner
	done    chan error
}

func begin(t *testing.T, backing string, strict bool) *mounted {
	t.Helper()
	m := &mounted{t: t, backing: backing, dir: filepath.Join(backing, "mount"), done: make(chan error, 1)}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	commands, in := io.Pipe()
	out, answers := io.Pipe()
	m.in, m.out = in, bufio.NewScanner(out)
	go func() {
		err := run(backing, m.dir, strict, commands, answers)
		_ = answers.CloseWithError(err)
		m.done <- err
	}()
	if !m.out.Scan() {
		t.Fatalf("not mounted: %v", <-m.done)
	}
	t.Cleanup(func() { _ = in.Close(); _ = unix.Unmount(m.dir, unix.MNT_DETACH) })
	return m
}

// say gives a command and returns the answer.
func (m *mounted) say(format string, args ...any) []byte {
	m.t.Helper()
	if _, err := fmt.Fprintf(m.in, format+"\n", args...); err != nil {
		m.t.Fatal(err)
	}
	if !m.out.Scan() {
		m.t.Fatalf("no answer: %v", <-m.done)
	}
	return m.out.Bytes()
}

// cut cuts the power; the file system is gone then.
func (m *mounted) cut(seed uint64) (l loss) {
	m.t.Helper()
	if err := json.Unmarshal(m.say("cut %d", seed), &l); err != nil {
		m.t.Fatal(err)
	}
	if err := <-m.done; err != nil {
		m.t.Fatal(err)
	}
	return l
}

func (m *mounted) at(name string) string { return filepath.Join(m.dir, name) }

// left is what the disk has of a file after the cut.
func (m *mounted) left(name string) string {
	m.t.Helper()
	b, err := os.ReadFile(filepath.Join(m.backing, "disk", name))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "gone"
	case err != nil:
		m.t.Fatal(err)
	}
	return string(b)
}

func (m *mounted) open(name string, flags int) *os.File {
	m.t.Helper()
	f, err := os.OpenFile(m.at(name), flags, 0o600)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = f.Close() })
	return f
}

func (m *mounted) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *mounted) write(f *os.File, text string) {
	m.t.Helper()
	_, err := f.WriteString(text)
	m.must(err)
}

func (m *mounted) syncDir(name string) {
	m.t.Helper()
	d, err := os.Open(m.at(name))
	m.must(err)
	m.must(d.Sync())
	m.must(d.Close())
}

// seedOf is a seed by which what was not synced has a fate.
func seedOf(want fate) (seed uint64) {
	for draw(rand.New(rand.NewPCG(seed, 7))) != want {
		seed++
	}
	return seed
}

func TestDataIsLostUntilItIsSynced(t *testing.T) {
	m := begin(t, t.TempDir(), false)
	lost, kept := m.open("lost", os.O_CREATE|os.O_WRONLY), m.open("kept", os.O_CREATE|os.O_WRONLY)
	through, again := m.open("through", os.O_CREATE|os.O_WRONLY|os.O_SYNC), m.open("again", os.O_CREATE|os.O_RDWR)
	short, datasync := m.open("short", os.O_CREATE|os.O_RDWR), m.open("datasync", os.O_CREATE|os.O_WRONLY)
	m.write(kept, "kept")
	m.write(again, "first words")
	m.write(short, "a long text")
	m.must(kept.Sync())
	m.must(again.Sync())
	m.must(short.Sync())
	m.write(datasync, "data")
	m.must(unix.Fdatasync(int(datasync.Fd())))

	m.write(lost, "lost")
	m.write(kept, " and lost")
	m.write(through, "through")
	_, err := again.WriteAt([]byte("later"), 0)
	m.must(err)
	m.must(short.Truncate(3))
	if b, err := os.ReadFile(m.at("again")); err != nil || string(b) != "later words" {
		t.Fatalf("before the cut: %q, %v", b, err)
	}
	l := m.cut(seedOf(none))
	for name, want := range map[string]string{
		"lost": "", "kept": "kept", "through": "through", "again": "first words", "short": "a long text", "datasync": "data",
	} {
		if got := m.left(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if l.Writes != 4 || l.Files != 4 {
		t.Errorf("%+v", l)
	}
	if _, err := kept.WriteString("!"); err == nil {
		t.Error("a write after the cut")
	}
}

func TestNamesAreLostUntilTheyAreSynced(t *testing.T) {
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprintf("strict=%v", strict), func(t *testing.T) {
			m := begin(t, t.TempDir(), strict)
			m.must(os.Mkdir(m.at("d"), 0o700))
			for _, name := range []string{"d/removed", "d/old", "d/target"} {
				m.must(os.WriteFile(m.at(name), []byte(name), 0o600))
				m.must(m.open(name, os.O_RDWR).Sync())
			}
			m.must(os.Mkdir(m.at("empty"), 0o700))
			m.syncDir("d")
			m.syncDir(".")

			m.must(os.Rename(m.at("d/old"), m.at("d/target")))
			m.must(os.Remove(m.at("d/removed")))
			m.must(os.Remove(m.at("empty")))
			m.must(os.Mkdir(m.at("d/made"), 0o700))
			m.must(os.WriteFile(m.at("d/made/file"), []byte("x"), 0o600))
			m.must(os.Rename(m.at("d"), m.at("moved")))
			m.cut(seedOf(none))
			for name, want := range map[string]string{"d/removed": "d/removed", "d/old": "d/old", "d/target": "d/target", "d/made/file": "gone"} {
				if got := m.left(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			for name, there := range map[string]bool{"empty": true, "d/made": false, "moved": false} {
				if _, err := os.Stat(filepath.Join(m.backing, "disk", name)); (err == nil) != there {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestWhatAnFsyncMakesOfNames(t *testing.T) {
	cases := map[string]struct{ journal, strict string }{
		"made":    {"made", "gone"},     // the file was synced, its directory was not
		"renamed": {"renamed", "gone"},  // a rename, and then an fsync of the file
		"listed":  {"listed", "listed"}, // the directory was synced, too
	}
	for _, strict := range []bool{false, true} {
		m := begin(t, t.TempDir(), strict)
		m.must(os.Mkdir(m.at("d"), 0o700))
		m.must(os.Mkdir(m.at("e"), 0o700))
		m.syncDir(".")
		save := func(name, text string) *os.File {
			f := m.open(name, os.O_CREATE|os.O_WRONLY)
			m.write(f, text)
			m.must(f.Sync())
			return f
		}
		save("e/listed", "listed")
		m.syncDir("e")
		save("d/made", "made")
		f := save("d/temporary", "renamed")
		m.must(os.Rename(m.at("d/temporary"), m.at("d/renamed")))
		m.must(f.Sync())
		m.cut(seedOf(none))
		for name, want := range cases {
			dir := "d/"
			if name == "listed" {
				dir = "e/"
			}
			if got, want := m.left(dir+name), map[bool]string{false: want.journal, true: want.strict}[strict]; got != want {
				t.Errorf("strict %v, %s: %q, want %q", strict, name, got, want)
			}
		}
	}
}

func TestWhatIsLeftOfUnsyncedWritesIsABeginning(t *testing.T) {
	text := strings.Repeat("0123456789", 3)
	seen := map[int]bool{}
	for seed := range uint64(60) {
		m := begin(t, t.TempDir(), false)
		f := m.open("f", os.O_CREATE|os.O_WRONLY)
		m.must(f.Sync())
		for i := range 3 {
			m.write(f, text[10*i:10*i+10])
		}
		l := m.cut(seed)
		got := m.left("f")
		if !strings.HasPrefix(text, got) {
			t.Fatalf("seed %d: %q", seed, got)
		}
		if l.Kept+l.Writes != 3 || l.Bytes != int64(30-len(got)) {
			t.Fatalf("seed %d: %d left, %+v", seed, len(got), l)
		}
		seen[len(got)] = true
	}
	if !seen[0] || !seen[30] || len(seen) < 8 {
		t.Errorf("lengths %v: neither nothing, all, nor torn writes", seen)
	}
}

// The same things are done to the file system and to two models of it, that of what is there and that of what is certain.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(30) {
		m := begin(t, t.TempDir(), true)
		rnd := rand.New(rand.NewPCG(seed, 0))
		now, certain := map[string][]byte{}, map[string][]byte{}
		name := func() string { return fmt.Sprint("f", rnd.IntN(3)) }
		for range 60 {
			n := name()
			_, there := now[n]
			switch what := rnd.IntN(12); {
			case !there:
				m.must(os.WriteFile(m.at(n), nil, 0o600))
				m.syncDir(".")
				now[n], certain[n] = []byte{}, []byte{}
			case what < 3:
				m.must(m.open(n, os.O_RDWR).Sync())
				certain[n] = bytes.Clone(now[n])
			case what < 5:
				size := rnd.IntN(40)
				m.must(os.Truncate(m.at(n), int64(size)))
				now[n] = append(bytes.Clone(now[n]), make([]byte, 40)...)[:size]
			case what == 5:
				m.must(os.Remove(m.at(n)))
				m.syncDir(".")
				delete(now, n)
				delete(certain, n)
			default:
				off, data := rnd.IntN(30), bytes.Repeat([]byte{byte('a' + rnd.IntN(26))}, 1+rnd.IntN(10))
				f := m.open(n, os.O_RDWR)
				_, err := f.WriteAt(data, int64(off))
				m.must(err)
				grown := append(bytes.Clone(now[n]), make([]byte, max(off+len(data)-len(now[n]), 0))...)
				copy(grown[off:], data)
				now[n] = grown
			}
			for n, want := range now {
				if got, err := os.ReadFile(m.at(n)); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("seed %d, %s: %q, %v, want %q", seed, n, got, err, want)
				}
			}
		}
		m.cut(seedOf(none))
		for i := range 3 {
			n, want := fmt.Sprint("f", i), "gone"
			if b, ok := certain[n]; ok {
				want = string(b)
			}
			if got := m.left(n); got != want {
				t.Fatalf("seed %d, %s: %q, want %q", seed, n, got, want)
			}
		}
	}
}

func TestAFullDiskAndAFreedOne(t *testing.T) {
	m := begin(t, t.TempDir(), false)
	m.say("room %d", 1<<20)
	f := m.open("f", os.O_CREATE|os.O_WRONLY)
	m.write(f, strings.Repeat("x", 1<<19))
	var st unix.Statfs_t
	m.must(unix.Statfs(m.dir, &st))
	if free := st.Bavail * uint64(st.Bsize); free != 1<<19 {
		t.Errorf("%d bytes free", free)
	}
	m.say("others %d", 1<<19)
	if _, err := f.WriteString("y"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a write on a full disk: %v", err)
	}
	if _, err := os.Create(m.at("g")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a file on a full disk: %v", err)
	}
	if _, err := f.WriteAt([]byte("z"), 0); err != nil {
		t.Errorf("a write that needs no room: %v", err)
	}
	m.say("others 0")
	m.write(f, "y")
	m.must(os.Remove(m.at("f")))
	var s stats
	m.must(json.Unmarshal(m.say("stat"), &s))
	if s.Full != 2 || s.Used != 0 {
		t.Errorf("%+v", s)
	}
}

func TestAnotherLifeBeginsWithWhatWasLeft(t *testing.T) {
	backing := t.TempDir()
	for life := range 3 {
		m := begin(t, backing, false)
		f := m.open("f", os.O_CREATE|os.O_WRONLY|os.O_APPEND)
		m.write(f, "kept ")
		m.must(f.Sync())
		m.write(f, "lost ")
		m.cut(seedOf(none))
		if got, want := m.left("f"), strings.Repeat("kept ", life+1); got != want {
			t.Fatalf("life %d: %q, want %q", life, got, want)
		}
	}
}
