package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/services/turns/prompt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a workspace on disk with a clock of its own.
type bench struct {
	*Workspace
	t    testing.TB
	time time.Time
}

func newBench(t testing.TB, files map[string]string) *bench {
	t.Helper()
	b := &bench{t: t, time: time.Now()}
	dir := t.TempDir()
	for path, text := range files {
		write(t, filepath.Join(dir, path), text)
	}
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	w.now = func() time.Time { return b.time }
	b.Workspace = w
	return b
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// pass lets time pass.
func (b *bench) pass(d time.Duration) { b.time = b.time.Add(d) }

// load is what Load gives, as text.
func (b *bench) load() string {
	files, skills, problems := b.Load()
	var out []string
	for _, f := range files {
		out = append(out, fmt.Sprintf("%s=%q", f.Name, f.Text))
	}
	for _, s := range skills {
		out = append(out, fmt.Sprintf("skill %s: %s", s.Name, s.Description))
	}
	for _, p := range problems {
		out = append(out, "! "+p.String())
	}
	return strings.Join(out, "\n")
}

func (b *bench) wants(want string) {
	b.t.Helper()
	if got := b.load(); got != want {
		b.t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLoad(t *testing.T) {
	b := newBench(t, map[string]string{
		"MEMORY.md": "m\n", "AGENTS.md": "a\n", "USER.md": "u", "OTHER.md": "no", "TOOLS.md": "",
		"skills/bake/SKILL.md": "---\nname: bake-bread\ndescription: >\n  How to\n  bake.\nlicense: MIT\n---\n# Bake\n",
		"skills/walk/SKILL.md": "---\r\ndescription: Walk.\r\n---\r\n",
		"skills/empty/notes":   "no skill",
		"skills/file":          "not a folder",
		"skills/.git/SKILL.md": "---\ndescription: hidden\n---\n",
	})
	b.wants("AGENTS.md=\"a\\n\"\nUSER.md=\"u\"\nMEMORY.md=\"m\\n\"\nskill bake-bread: How to bake.\nskill walk: Walk.")
	newBench(t, nil).wants("")
}

func TestTextIsMadeClean(t *testing.T) {
	b := newBench(t, map[string]string{"AGENTS.md": "\ufeffa\x00b\x1b[31m\xffc\r\nd\te\rf\u0085ä"})
	b.wants(`AGENTS.md="ab[31mc\nd\te\nfä"`)
}

func TestCaps(t *testing.T) {
	long := strings.Repeat(strings.Repeat("ä", 30)+"\n", 500) // 30,500 bytes
	b := newBench(t, map[string]string{
		"AGENTS.md": long, "SOUL.md": long, "USER.md": strings.Repeat("ä", 20_000), "TOOLS.md": long, "MEMORY.md": long,
	})
	files, _, problems := b.Load()
	if len(files) != 5 || len(problems) != 5 {
		t.Fatalf("got %d files, problems %v", len(files), problems)
	}
	total := 0
	for i, f := range files {
		total += len(f.Text)
		size := 30_500
		if f.Name == "USER.md" {
			size = 40_000
		}
		if len(f.Text) > maxFile || len(f.Text)+f.Cut != size || strings.ContainsRune(f.Text, '\ufffd') {
			t.Errorf("%s: %d bytes, %d cut, of %d", f.Name, len(f.Text), f.Cut, size)
		}
		if i < 2 && !strings.HasSuffix(f.Text, "ä\n") {
			t.Errorf("%s is not cut at a line", f.Name)
		}
	}
	if total > maxFiles || total < maxFiles-200 || len(files[4].Text) > 100 {
		t.Errorf("%d bytes together, the last has %d", total, len(files[4].Text))
	}
	if !strings.Contains(problems[0].String(), "AGENTS.md: only the first 20435 bytes are shown") {
		t.Errorf("got %s", problems[0])
	}
}

// What is no file of the workspace is refused and told, and the rest is given.
func TestNothingFromOutside(t *testing.T) {
	b := newBench(t, map[string]string{"USER.md": "u", "real.md": "real", "elsewhere/SKILL.md": "---\ndescription: e\n---\n", "skills/x/SKILL.md": "---\ndescription: x\n---\n"})
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret"), "SECRET")
	write(t, filepath.Join(outside, "SKILL.md"), "---\ndescription: SECRET\n---\n")
	for link, to := range map[string]string{
		"AGENTS.md": filepath.Join(outside, "secret"), "SOUL.md": "real.md", "skills/out": outside, "skills/in": "../elsewhere",
	} {
		if err := os.Symlink(to, filepath.Join(b.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(b.dir, "TOOLS.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(b.dir, "MEMORY.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.wants("SOUL.md=\"real\"\nUSER.md=\"u\"\nskill in: e\nskill x: x\n" +
		"! AGENTS.md: a link that leads to no file in the workspace: path escapes from parent\n" +
		"! TOOLS.md: not a regular file\n! MEMORY.md: not a regular file\n! skills/out/SKILL.md: path escapes from parent")
	if got, err := b.Skill("in"); err != nil || !strings.Contains(got, "description: e") {
		t.Errorf("a skill behind a link within: %q, %v", got, err)
	}
}

// A pipe that takes a file's place after it was looked at is not waited for.
func TestReadDoesNotWait(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "AGENTS.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if _, _, err := read(root, "AGENTS.md", 10); !errors.Is(err, errNotRegular) {
		t.Errorf("got %v", err)
	}
}

func TestChangesAreSeen(t *testing.T) {
	b := newBench(t, map[string]string{"AGENTS.md": "one"})
	b.wants(`AGENTS.md="one"`)
	path := filepath.Join(b.dir, "AGENTS.md")
	write(t, path, "two") // within one tick of the file system, of the same size
	b.pass(interval - 1)
	b.wants(`AGENTS.md="one"`) // the disk is not looked at
	b.pass(1)
	b.wants(`AGENTS.md="two"`)

	b.pass(time.Hour)
	b.wants(`AGENTS.md="two"`)
	b.pass(time.Hour)
	old := b.time.Add(-time.Minute)
	write(t, path, "six")
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	b.wants(`AGENTS.md="six"`)

	write(t, filepath.Join(b.dir, "skills/a/SKILL.md"), "---\ndescription: a\n---\n")
	write(t, filepath.Join(b.dir, "skills/b/SKILL.md"), "")
	b.pass(interval)
	b.wants("AGENTS.md=\"six\"\nskill a: a\n! skills/b/SKILL.md:1: begins with no frontmatter: lines between two lines ---, at most 4096 bytes")
	write(t, filepath.Join(b.dir, "skills/b/SKILL.md"), "---\ndescription: b\n---\n")
	b.pass(interval)
	b.wants("AGENTS.md=\"six\"\nskill a: a\nskill b: b")
	for _, gone := range []string{"skills/a", "AGENTS.md"} {
		if err := os.RemoveAll(filepath.Join(b.dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	b.pass(time.Hour)
	b.wants("skill b: b")
	b.pass(-2 * time.Hour) // a clock that was set back
	write(t, path, "back")
	b.wants("AGENTS.md=\"back\"\nskill b: b")

	if err := os.Rename(b.dir, b.dir+".away"); err != nil {
		t.Fatal(err)
	}
	b.pass(interval)
	b.wants("! .: no such file or directory")
	if err := os.Rename(b.dir+".away", b.dir); err != nil {
		t.Fatal(err)
	}
	b.wants("AGENTS.md=\"back\"\nskill b: b")
}

// Two changes within one tick of the file system are two changes.
func TestChangesWithinOneTick(t *testing.T) {
	b := newBench(t, map[string]string{"AGENTS.md": "one", "skills/a/SKILL.md": "---\ndescription: a\n---\n"})
	tick := func() {
		for _, path := range []string{"AGENTS.md", "skills"} {
			if err := os.Chtimes(filepath.Join(b.dir, path), b.time, b.time); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := b.time
	tick()
	b.wants("AGENTS.md=\"one\"\nskill a: a")
	write(t, filepath.Join(b.dir, "AGENTS.md"), "two")
	write(t, filepath.Join(b.dir, "skills/b/SKILL.md"), "---\ndescription: b\n---\n")
	tick()
	b.time = before.Add(interval)
	b.wants("AGENTS.md=\"two\"\nskill a: a\nskill b: b")
}

// As long as nothing changes, nothing is read: the same slices come back.
func TestNothingChanged(t *testing.T) {
	b := newBench(t, map[string]string{"AGENTS.md": "one", "skills/a/SKILL.md": "---\ndescription: a\n---\n"})
	b.pass(time.Hour) // all is settled
	first, skills, _ := b.Load()
	b.pass(time.Hour)
	again, skillsAgain, _ := b.Load()
	if &first[0] != &again[0] || &skills[0] != &skillsAgain[0] || b.docs[0].info == nil || b.folders.info == nil || b.folders.list[0].info == nil {
		t.Error("what did not change was read again")
	}
}

// Readers and writers at once: what comes back is always one state or another.
func TestManyReaders(t *testing.T) {
	b := newBench(t, map[string]string{"AGENTS.md": "0", "skills/a/SKILL.md": "---\ndescription: a\n---\n"})
	var mu sync.Mutex
	b.now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		b.pass(interval)
		return b.time
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				files, skills, problems := b.Load()
				if len(files) > 1 || len(skills) != 1 || len(problems) > 0 {
					t.Errorf("got %v %v %v", files, skills, problems)
				}
				if _, err := b.Skill("a"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 100 {
			next := filepath.Join(b.dir, "next")
			write(t, next, fmt.Sprint(i))
			if err := os.Rename(next, filepath.Join(b.dir, "AGENTS.md")); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
}

func TestOpen(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	if _, err := Open(file); err == nil || !strings.Contains(err.Error(), "not a folder") {
		t.Errorf("got %v", err)
	}
	if err := Ensure(file); err == nil || !strings.Contains(err.Error(), "not a folder") {
		t.Errorf("got %v", err)
	}
}

func TestEnsure(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home", "workspace")
	if err := Ensure(dir); err != nil {
		t.Fatal(err)
	}
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, skills, problems := w.Load()
	var got []string
	for _, f := range files {
		got = append(got, f.Name)
		if f.Cut != 0 || len(f.Text) < 50 || len(f.Text) > 2000 {
			t.Errorf("%s has %d bytes, %d cut", f.Name, len(f.Text), f.Cut)
		}
	}
	if !slices.Equal(got, names[:]) || len(skills) != 1 || skills[0].Name != "write-a-skill" || len(problems) > 0 {
		t.Errorf("got %v, %v, %v", got, skills, problems)
	}
	if text, err := w.Skill("write-a-skill"); err != nil || !strings.Contains(text, "# Write a skill") {
		t.Errorf("got %q, %v", text, err)
	}
	for path, mode := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, "AGENTS.md"): 0o600, filepath.Join(dir, "skills"): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 1 {
		t.Errorf("beside the workspace lies %v, %v", left, err)
	}

	// What a person changed or deleted stays so.
	write(t, filepath.Join(dir, "SOUL.md"), "mine")
	for _, gone := range []string{"AGENTS.md", "skills"} {
		if err := os.RemoveAll(filepath.Join(dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Ensure(dir); err != nil {
		t.Fatal(err)
	}
	after, _ := Open(dir)
	files, skills, _ = after.Load()
	if len(files) != 4 || files[0] != (prompt.File{Name: "SOUL.md", Text: "mine"}) || len(skills) != 0 {
		t.Errorf("got %v, %v", files, skills)
	}
}
