package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// binary is the built jetclaw that the tests run, as a person would.
var binary string //nolint:gochecknoglobals // built once

func TestMain(m *testing.M) {
	if code, was := wasFakeMCP(); was {
		os.Exit(code)
	}
	if conf := os.Getenv(nodeVar); conf != "" {
		os.Exit(runNode(conf))
	}
	// A test mostly waits for the processes that it has started. What -parallel says comes later, and counts.
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "jetclaw-cli")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "jetclaw")
	if out, err := exec.CommandContext(context.Background(), "go", "build", "-o", binary, "..").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// patience bounds what a test waits for on a loaded machine.
const patience = 30 * time.Second

// user is a person with a home of their own and nothing else in the environment.
type user struct {
	t    *testing.T
	home string
	env  []string
}

// newUser has a configuration; "" is none. With one that names no model a test sets OPENAI_BASE_URL, so that no server
// that happens to run on this machine is asked.
func newUser(t *testing.T, yaml string, env ...string) *user {
	t.Helper()
	u := &user{t: t, home: filepath.Join(t.TempDir(), "home")}
	if yaml != "" {
		u.write("jetclaw.yaml", yaml)
	}
	u.env = append([]string{"HOME=" + t.TempDir(), "JETCLAW_HOME=" + u.home, "TZ=UTC", "PATH=" + os.Getenv("PATH")}, env...)
	return u
}

func (u *user) write(name, text string) {
	u.t.Helper()
	path := filepath.Join(u.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

func (u *user) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	u.t.Cleanup(cancel)
	c := exec.CommandContext(ctx, binary, args...)
	c.Env = u.env
	return c
}

// result is what a command left behind.
type result struct {
	stdout, stderr string
	code           int
}

func (u *user) run(args ...string) result { return u.runIn("", args...) }

// runIn gives a command something on stdin.
func (u *user) runIn(stdin string, args ...string) result {
	u.t.Helper()
	c := u.command(args...)
	c.Stdin = strings.NewReader(stdin)
	var out, err bytes.Buffer
	c.Stdout, c.Stderr = &out, &err
	return result{code: codeOf(u.t, c.Run()), stdout: out.String(), stderr: err.String()}
}

func codeOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

// want fails the test unless the command ended with a code and said these things on stderr.
func (r result) want(t *testing.T, code int, stderr ...string) {
	t.Helper()
	for _, s := range stderr {
		if !strings.Contains(r.stderr, s) {
			t.Errorf("stderr has no %q", s)
			code = -1
		}
	}
	if r.code != code {
		t.Errorf("exit %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.stdout, r.stderr)
	}
}

// daemon is a running `jetclaw run`.
type daemon struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr *watched
	ended  chan error
}

// start runs the daemon and returns when it says that it runs.
func (u *user) start(args ...string) *daemon {
	u.t.Helper()
	d := &daemon{t: u.t, cmd: u.command(append([]string{"run"}, args...)...), stderr: newWatched(), ended: make(chan error, 1)}
	d.cmd.Stderr = d.stderr
	if err := d.cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	go func() {
		d.ended <- d.cmd.Wait()
		d.stderr.close()
	}()
	u.t.Cleanup(func() { _ = d.cmd.Process.Kill() }) // ended already, as a rule
	d.stderr.waitFor(u.t, "\n  journal ")
	return d
}

func (d *daemon) kill() {
	d.t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		d.t.Fatal(err)
	}
	if err := <-d.ended; err == nil {
		d.t.Error("killed, it ended in order")
	}
}

// stop asks it to drain and returns its exit code.
func (d *daemon) stop() int {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
	return codeOf(d.t, <-d.ended)
}
