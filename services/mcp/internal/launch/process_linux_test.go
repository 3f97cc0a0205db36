package launch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestEnd(t *testing.T) {
	cases := map[string]struct {
		mode  string
		lines int // to read before Close
		grace time.Duration
		exit  string // "": whatever comes first
	}{
		"with stdin":           {"ready eof", 1, time.Hour, "exited with status 0"},
		"ignores stdin":        {"ready forever", 1, DefaultGrace, "killed by signal: terminated"},
		"ignores SIGTERM":      {"deaf ready forever", 1, soon, "killed by signal: killed"},
		"child":                {"child ready eof", 2, soon, ""},
		"child in a group":     {"group ready eof", 2, soon, ""},
		"child in a session":   {"session ready eof", 2, soon, ""},
		"child without a mark": {"bare ready eof", 2, soon, ""},
		"daemon":               {"daemon ready eof", 2, soon, ""},
		"everything":           {"deaf child group session daemon bare ready forever", 6, soon, "killed by signal: killed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, c.mode)
			cmd.Grace = c.grace
			p := start(t, cmd)
			in := bufio.NewReader(p.Reader())
			pids := map[string]bool{}
			for range c.lines {
				line, err := in.ReadString('\n')
				if err != nil {
					t.Fatalf("%v; %s", err, p.Stderr())
				}
				pids[strings.Trim(line, "{}\n\"ready:")] = true
			}
			if p.Exit() != "" {
				t.Errorf("it runs and has ended: %s", p.Exit())
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if p.Exit() == "" || c.exit != "" && p.Exit() != c.exit {
				t.Errorf("it %s, want %s", p.Exit(), c.exit)
			}
			for pid := range pids {
				if alive(pid) {
					t.Errorf("%s is left", pid)
				}
			}
			if _, err := p.Reader().Read(make([]byte, 10)); !errors.Is(err, io.EOF) {
				t.Errorf("after the end one reads %v", err)
			}
			if _, err := p.Writer().Write([]byte("{}\n")); !errors.Is(err, os.ErrClosed) {
				t.Errorf("after the end one writes with %v", err)
			}
		})
	}
}

// alive: whatever became of its parent, its number is not another's yet.
func alive(pid string) bool {
	raw, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !bytes.Contains(raw, []byte(") Z "))
}

// TestEndByItself: nobody has to call Close for what a dead server left to be ended.
func TestEndByItself(t *testing.T) {
	c := command(t, "child session daemon")
	p := start(t, c)
	within(t, "end", p.Done())
	if p.Exit() != "exited with status 0" {
		t.Error(p.Exit())
	}
	if left := marked(c.Home); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	out, err := io.ReadAll(p.Reader()) // still there
	if err != nil || strings.Count(string(out), "ready") > 3 {
		t.Errorf("%q, %v", out, err)
	}
}

func TestFails(t *testing.T) {
	c := command(t, "fails")
	c.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }
	p := start(t, c)
	within(t, "end", p.Done())
	if want := "cannot open the database, password [redacted] is wrong"; p.Exit() != "exited with status 3" || p.Stderr() != want {
		t.Errorf("%s: %q, want %q", p.Exit(), p.Stderr(), want)
	}
}

func TestGarbage(t *testing.T) {
	var log bytes.Buffer
	c := command(t, "garbage")
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	p := start(t, c)
	out, err := io.ReadAll(p.Reader())
	if want := "{\"n\":1}\n{\"n\":2}\n{\"n\":4}\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
	if p.Dropped() != 7 || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "Server ready!") {
		t.Errorf("%d lines dropped, log: %s", p.Dropped(), &log)
	}
}

func TestLongLines(t *testing.T) {
	p := start(t, command(t, "wide ready endless ready forever"))
	in := bufio.NewReader(p.Reader())
	line, err := in.ReadString('\n')
	if err != nil || len(line) < 10<<20 {
		t.Fatalf("%d bytes, %v", len(line), err)
	}
	if line, err = in.ReadString('\n'); err != nil || !strings.Contains(line, "ready") {
		t.Fatalf("%q, %v", line, err)
	}
	for range 2 {
		if line, err = in.ReadString('\n'); !errors.Is(err, ErrLine) || line != "" {
			t.Fatalf("%q, %v", line, err)
		}
	}
}

func TestFlood(t *testing.T) {
	p := start(t, command(t, "flood ready eof"))
	if _, err := bufio.NewReader(p.Reader()).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := p.Stderr()
	if len(text) > tailBytes+rawLine || !strings.HasSuffix(text, "y…") || !strings.HasPrefix(text, "xxx") {
		t.Errorf("%d bytes: %.20s … %s", len(text), text, text[len(text)-20:])
	}
}

// TestNeverReads: a write that waits ends with the writer.
func TestNeverReads(t *testing.T) {
	p := start(t, command(t, "ready forever"))
	if _, err := bufio.NewReader(p.Reader()).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error)
	go func() {
		_, err := p.Writer().Write(make([]byte, 4<<20))
		wrote <- err
	}()
	for range 2 {
		if err := p.Writer().Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-wrote; !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

// TestNoPatience: an ended context leaves no time for anything but SIGKILL. Many may close at once.
func TestNoPatience(t *testing.T) {
	c := command(t, "deaf session ready forever")
	c.Grace = time.Hour
	p := start(t, c)
	in := bufio.NewReader(p.Reader())
	for range 2 {
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := p.Close(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	within(t, "end", p.Done())
	if p.Exit() != "killed by signal: killed" {
		t.Error(p.Exit())
	}
}

func TestDescriptors(t *testing.T) {
	// As if a shell had started us with a descriptor of its own.
	fd, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	c := command(t, "")
	c.Path, c.Args = "/bin/sh", []string{"-c", `echo '{"ready":1}'; read x`}
	p := start(t, c)
	if _, err := bufio.NewReader(p.Reader()).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	has := numbers("/proc/" + strconv.Itoa(p.PID()) + "/fd")
	slices.Sort(has)
	if !slices.Equal(has, []int{0, 1, 2}) {
		t.Errorf("it has descriptors %v", has)
	}
}

func TestEnvironment(t *testing.T) {
	var log bytes.Buffer
	c := command(t, "env")
	c.Dir, c.Log = t.TempDir(), slog.New(slog.NewTextHandler(&log, nil))
	c.Parent = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "ANTHROPIC_API_KEY=secret1", "NODE_OPTIONS=secret2", "nonsense"}
	maps.Copy(c.Env, map[string]string{"NODE_OPTIONS": "--require=evil", "LD_PRELOAD": "evil", markName: "evil", "API_KEY": "k", "LANG": "de"})
	p := start(t, c)
	within(t, "end", p.Done())
	got := strings.Split(p.Stderr(), "\n")
	slices.Sort(got)
	want := []string{"API_KEY=k", "GORACE=" + c.Env["GORACE"], markName + "=" + p.tree.mark, "LANG=de", childMode + "=env", "PATH=/usr/bin:/bin", "PWD=" + c.Dir}
	if !slices.Equal(got, want) {
		t.Errorf("it has %q, want %q", got, want)
	}
	if got := log.String(); !strings.Contains(got, `names="[JETCLAW_MCP LD_PRELOAD NODE_OPTIONS]"`) || strings.Contains(got, "evil\"") {
		t.Errorf("log: %s", got)
	}
}

func TestNotStarted(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("plain", "#!/bin/sh\n", 0o600)
	write("noformat", "hello\n", 0o700)
	write("nointerpreter", "#!/no/such/thing\n", 0o700)
	write("good", "#!/bin/sh\n", 0o700)
	cases := map[string]struct {
		path, dir, want string
		is              error
	}{
		"not found":         {"no-such-program", "", "no-such-program: not found (looked in PATH)", ErrNotFound},
		"no such path":      {"/no/such/program", "", "/no/such/program: not found", ErrNotFound},
		"no such path here": {"./program", dir, "./program: not found", ErrNotFound},
		"nothing":           {"", "", `command "": not found: it names no program`, ErrNotFound},
		"not executable":    {"plain", "", "plain: not executable (" + dir + "/plain has no right to be run)", ErrNotExecutable},
		"not executable 2":  {"./plain", dir, "./plain: not executable: the file has no right to be run (chmod +x)", ErrNotExecutable},
		"folder":            {"/tmp", "", "/tmp: not executable: it is a folder", ErrNotExecutable},
		"no program":        {"noformat", "", "noformat: not executable: it is no program for this machine, nor a script with #! in its first line", ErrNotExecutable},
		"no interpreter":    {"nointerpreter", "", "nointerpreter: the interpreter that it names (its first line, or its loader) is not found", ErrNotFound},
		"no folder":         {"good", "/no/such", "good: the folder /no/such does not exist", nil},
		"a file":            {"good", dir + "/good", "good: the folder " + dir + "/good is a file", nil},
		"zero byte":         {"good", "", "good: argument 2 holds a zero byte", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, "")
			cmd.Path, cmd.Dir, cmd.Parent = c.path, c.dir, []string{"PATH=.::" + dir + ":/usr/bin:/bin"}
			if name == "zero byte" {
				cmd.Args = []string{"a", "b\x00c"}
			}
			before := len(numbers("/proc/self/fd"))
			p, err := Start(t.Context(), cmd)
			if err == nil {
				_ = p.Close(t.Context())
				t.Fatal("it runs")
			}
			if err.Error() != c.want || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%q, want %q", err, c.want)
			}
			if after := len(numbers("/proc/self/fd")); after > before {
				t.Errorf("%d descriptors are left open", after-before)
			}
		})
	}
	c := command(t, "")
	c.Path, c.Parent, c.Env = "good", []string{"PATH=/usr/bin"}, map[string]string{"PATH": dir}
	if path, err := LookPath(c); err != nil || path != filepath.Join(dir, "good") {
		t.Errorf("%s, %v", path, err)
	}
}

// TestTwoOfOneServer: the end of a connection is not that of another.
func TestTwoOfOneServer(t *testing.T) {
	c := command(t, "session ready eof")
	one, two := start(t, c), start(t, c)
	for _, p := range []*Process{one, two} {
		in := bufio.NewReader(p.Reader())
		for range 2 {
			if _, err := in.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := one.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := marked(c.Home); len(left) != 2 || !slices.Contains(left, two.PID()) {
		t.Errorf("%v are left of %d", left, two.PID())
	}
	if err := two.Close(t.Context()); err != nil { // before start's check of the first
		t.Fatal(err)
	}
}
