package sandbox

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestOrdinaryUser runs all tests of this package again as nobody, when they run as root.
func TestOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		return // they all do
	}
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	const nobody = 65534
	cmd := exec.Command("/proc/self/fd/3", "-test.timeout=5m", "-test.failfast")
	cmd.ExtraFiles = []*os.File{exe}
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TMPDIR=/tmp"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("PASS")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestRefusal: what cannot be had is an error that says why, and what to do; what is wrong is one too.
func TestRefusal(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // without bubblewrap
	broken := []string{"/bin/false"}
	for name, c := range map[string]struct {
		options Options
		want    []string
	}{
		"no bubblewrap":  {Options{Mode: Bwrap, Self: self}, []string{"bwrap: bubblewrap is not installed", "tools.exec.sandbox: none", "keys"}},
		"nothing works":  {Options{Self: broken}, []string{"bwrap: ", "own: ", "bare: ", "tools.exec.sandbox: none"}},
		"no Landlock":    {Options{Mode: Landlock, Self: broken}, []string{"own: ", "bare: "}},
		"no keeper":      {Options{Mode: None, Self: broken}, []string{"none: "}},
		"no self":        {Options{Mode: None}, []string{"starts itself"}},
		"unknown mode":   {Options{Mode: "docker", Self: self}, []string{`"docker"`, "landlock"}},
		"relative path":  {Options{Hidden: []string{"keys"}, Self: self}, []string{`"keys"`}},
		"all is hidden":  {Options{Hidden: []string{"/"}, Self: self}, []string{`"/"`}},
		"all, elsewhere": {Options{Hidden: []string{"/x/.."}, Self: self}, []string{`"/x/.."`}},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := New(c.options)
			if b != nil || err == nil {
				t.Fatalf("got %v, %v", b, err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
}

// TestChoice: the first kind that works is taken.
func TestChoice(t *testing.T) {
	for _, mode := range []Mode{"", Auto, Bwrap, Landlock, None} {
		want := ""
		for _, k := range map[Mode][]kind{"": {bwrap, own, bare}, Auto: {bwrap, own, bare}, Bwrap: {bwrap}, Landlock: {own, bare}, None: {unboxed}}[mode] {
			if _, err := newBox(k, Options{Self: self}); err == nil {
				want = string(k)
				break
			}
		}
		b, err := New(Options{Mode: mode, Self: self})
		if want == "" && err == nil || want != "" && (err != nil || b.Kind() != want) {
			t.Errorf("%q: got %v, %v, want %q", mode, b, err, want)
		}
	}
}

// TestPlace: a folder that holds what is hidden is no place for commands; one below it is.
func TestPlace(t *testing.T) {
	s := newScene(t, "/var/tmp")
	link := filepath.Join(s.workspace, "home")
	if err := os.Symlink(s.Home, link); err != nil {
		t.Fatal(err)
	}
	boxes(t, s.hidden(), func(t *testing.T, b *Box) {
		for _, dir := range []string{"/", "/usr", s.Home, filepath.Join(s.Home, "keys"), link, filepath.Join(s.Home, "none"), "workspace", ""} {
			var out bytes.Buffer
			if _, err := b.Run(t.Context(), Command{Text: "echo ran", Dir: dir}, &out); !errors.Is(err, ErrPlace) || out.Len() > 0 {
				t.Errorf("%q: got %v, %q, want that nothing runs", dir, err, &out)
			}
		}
		inside := *b
		inside.hidden = []string{s.Home}
		var out bytes.Buffer
		st, err := inside.Run(t.Context(), Command{Text: "echo here >here && /bin/cat here; read x <../keys/key", Dir: s.workspace}, &out)
		if err != nil || st.Code == 0 || !strings.HasPrefix(out.String(), "here\n") || strings.Contains(out.String(), s.Secret) {
			t.Errorf("below what is hidden: %+v, %v, %q", st, err, &out)
		}
	})
}

// TestInherits: a command has the variables and the files that it was given, and a temporary folder that is gone afterwards.
func TestInherits(t *testing.T) {
	s := newScene(t, "/tmp")
	open, err := os.Open(s.key()) // by us, while commands run
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	temps := func() []string {
		list, err := filepath.Glob(filepath.Join(os.TempDir(), "jetclaw-exec-*", "mark-"+s.Secret))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	everyBox(t, s, func(t *testing.T, b *Box) {
		out, st := s.in(t, t.Context(), b, `env | sed 's/=.*//' | sort | tr '\n' ' '; echo
			for n in 3 4 5 6 7 8 9; do (: <&$n) 2>/dev/null && echo open $n; done
			echo x >"$TMPDIR/mark-`+s.Secret+`" && mkdir "$TMPDIR/d" && : >"$TMPDIR/d/f" && chmod 0 "$TMPDIR/d" 2>/dev/null; mv "$TMPDIR"/mark* moved && cp moved "$TMPDIR/mark-`+s.Secret+`"; cat moved; rm moved`)
		const want = "HOME PATH PWD TMPDIR \nx\n"
		if out = strings.Replace(out, " _ ", " ", 1); out != want || st != (Status{}) {
			t.Errorf("got %q %+v, want %q", out, st, want)
		}
		if left := temps(); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}

// TestSeveral: commands run at the same time and do not see each other.
func TestSeveral(t *testing.T) {
	s := newScene(t, "/tmp")
	boxes(t, s.hidden(), func(t *testing.T, b *Box) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				var out bytes.Buffer
				st, err := b.Run(t.Context(), Command{Text: `[ -e "$TMPDIR/x" ] && exit 1; echo x >"$TMPDIR/x"; read x <"$TMPDIR/x"; echo $x`, Dir: s.workspace}, &out)
				if err != nil || st != (Status{}) || out.String() != "x\n" {
					t.Errorf("%+v, %v, %q", st, err, &out)
				}
			})
		}
		wg.Wait()
	})
}

// TestView: what is hidden is left out with all that holds it, and what only some may read too.
func TestView(t *testing.T) {
	root := unlinked(t.TempDir())
	for name, mode := range map[string]os.FileMode{
		"all/a": 0o644, "all/deep/b": 0o755, "part/open": 0o644, "part/closed": 0o640, "part/sub/c": 0o644, "shut/d": 0o644, "home/keys/k": 0o644,
		"home/bin/x": 0o755,
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(filepath.Join(root, "shut"), 0o710), os.Symlink("open", filepath.Join(root, "part", "link")), os.Chmod(root, 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		deep   int
		hidden []string
		want   string
	}{
		"at a glance":       {0, nil, "."},
		"looked through":    {9, nil, "all home part/link>open part/open part/sub"},
		"one level":         {1, nil, "all home part"},
		"hidden folder":     {0, []string{"home/keys"}, "all home/bin part"},
		"hidden file":       {0, []string{"home/keys/k"}, "all home/bin part"},
		"hidden, not there": {0, []string{"home/none/x"}, "all home/bin home/keys part"},
		"hidden link":       {9, []string{"part/link"}, "all home part/open part/sub"},
		"hidden above":      {9, []string{"."}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var hidden, got []string
			for _, h := range c.hidden {
				hidden = append(hidden, filepath.Join(root, h))
			}
			v, _ := tree(root, c.deep, hidden)
			relative := func(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, root), "/") }
			for _, path := range v.read {
				got = append(got, relative(path))
			}
			for _, link := range v.links {
				got = append(got, relative(link[0])+">"+link[1])
			}
			slices.Sort(got)
			if text := strings.Join(got, " "); text != strings.TrimPrefix(c.want, ".") {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}

// TestKeeperAlone: a keeper that is not told what to do does nothing.
func TestKeeperAlone(t *testing.T) {
	for _, input := range []string{"", "hello", `{"kind":"bare"}`, `{"kind":"else","text":"echo ran"}`} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self[0], self[1:]...)
		cmd.Stdin, cmd.ExtraFiles = strings.NewReader(input), []*os.File{w}
		out, _ := cmd.Output()
		w.Close()
		status, err := io.ReadAll(r)
		r.Close()
		if len(out) > 0 || err != nil || len(status) > 0 && !bytes.Contains(status, []byte(`"failed":"`)) || bytes.Contains(status, []byte(`"failed":""`)) {
			t.Errorf("%q: printed %q, reported %q", input, out, status)
		}
	}
}
