package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "sandbox-exec" {
		os.Exit(Main(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// home is a fake one, and its hidden paths.
func home(t *testing.T) (workspace string, o Options) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"keys", "run", "data", "workspace"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		o.Hidden = append(o.Hidden, filepath.Join(dir, name))
	}
	o.Hidden[3] = filepath.Join(dir, "jetclaw.yaml")
	for _, name := range []string{"keys/key", "jetclaw.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("secret"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o.Self, o.Timeout, o.Env = []string{"/proc/self/exe", "sandbox-exec"}, 30*time.Second, []string{"GREETING=hello"}
	return filepath.Join(dir, "workspace"), o
}

// tools gives a test the tool with a sandbox, if one can be had here, and without.
func tools(t *testing.T, test func(t *testing.T, run func(ctx context.Context, arguments string) (tool.Result, error))) {
	t.Helper()
	for _, mode := range []string{"auto", "landlock", "none"} {
		t.Run(mode, func(t *testing.T) {
			workspace, o := home(t)
			o.Sandbox = mode
			made, err := New(o)
			if err != nil {
				if mode == "none" || made.Run != nil || !strings.Contains(err.Error(), "tools.exec.sandbox: none") {
					t.Error(err)
				}
				return
			}
			test(t, func(ctx context.Context, arguments string) (tool.Result, error) {
				return made.Run(ctx, tool.Call{Workspace: workspace, Arguments: json.RawMessage(arguments)})
			})
		})
	}
}

func TestResults(t *testing.T) {
	tools(t, func(t *testing.T, run func(ctx context.Context, arguments string) (tool.Result, error)) {
		for arguments, want := range map[string]tool.Result{
			`{"command":"echo hi"}`:                            {Text: "hi\nexit code 0"},
			`{"command":"true"}`:                               {Text: "exit code 0"},
			`{"command":"printf hi; exit 3"}`:                  {Text: "hi\nexit code 3", Failed: true},
			`{"command":"echo oops >&2; kill -9 $$"}`:          {Text: "oops\nkilled by signal SIGKILL", Failed: true},
			`{"command":"cat; echo $GREETING $TERM"}`:          {Text: "hello dumb\nexit code 0"},
			`{"command":"cd; pwd | grep -c workspace"}`:        {Text: "1\nexit code 0"},
			`{"command":"printf '\\033[31mred\\033[0m\\007'"}`: {Text: "red\nexit code 0"},
			`{"command":"printf 'a\\377\\000b\\r\\n'"}`:        {Text: "a\uFFFDb\nexit code 0"},
			`{"command":"echo begun; sleep 500","timeout_s":1}`: {
				Text: "begun\nended after 1 s: its time was up; it was killed, with all that it had started", Failed: true,
			},
		} {
			got, err := run(t.Context(), arguments)
			want.Untrusted, want.Private = true, true
			if err != nil || got != want {
				t.Errorf("%s: got %+v, %v, want %+v", arguments, got, err, want)
			}
		}
	})
}

// TestWalls is the short form of what package sandbox tests at length.
func TestWalls(t *testing.T) {
	workspace, o := home(t)
	made, err := New(o)
	if err != nil {
		if made.Run != nil || !strings.Contains(err.Error(), "tools.exec.sandbox: none") {
			t.Error(err)
		}
		return
	}
	for _, command := range []string{
		"cat ../keys/key", "cat " + o.Hidden[0] + "/key", "ln -s ../keys k && cat k/key", "cat ../jetclaw.yaml", "echo >>/etc/passwd",
		"cat /proc/" + fmt.Sprint(os.Getpid()) + "/environ", "bash -c ': </dev/tcp/127.0.0.1/22'",
	} {
		arguments, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		got, err := made.Run(t.Context(), tool.Call{Workspace: workspace, Arguments: arguments})
		if err != nil || !got.Failed || strings.Contains(got.Text, "secret") {
			t.Errorf("%s: got %+v, %v", command, got, err)
		}
	}
}

// TestGigabyte: what is kept does not depend on what is printed.
func TestGigabyte(t *testing.T) {
	workspace, o := home(t)
	o.Sandbox = "none" // the pipe is the same
	made, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := made.Run(t.Context(), tool.Call{
		Workspace: workspace, Arguments: json.RawMessage(`{"command":"echo first; yes | head -c 1000000000; echo last"}`),
	})
	const size = 1_000_000_011
	if err != nil || got.Failed || len(got.Text) > tool.MaxText || got.Cut != size-keepHead-keepTail {
		t.Errorf("%v, %d bytes, cut %d", err, len(got.Text), got.Cut)
	}
	if !strings.HasPrefix(got.Text, "first\ny\n") || !strings.HasSuffix(got.Text, "y\nlast\nexit code 0") || !utf8.ValidString(got.Text) {
		t.Errorf("%.20q … %q", got.Text, got.Text[len(got.Text)-20:])
	}
}

// TestContext: a turn that was cancelled wants no result; one whose time is up gets what there is.
func TestContext(t *testing.T) {
	tools(t, func(t *testing.T, run func(ctx context.Context, arguments string) (tool.Result, error)) {
		cause := errors.New("cancelled by the test")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if got, err := run(ctx, `{"command":"sleep 500"}`); !errors.Is(err, cause) {
			t.Errorf("got %+v, %v", got, err)
		}
		late, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer stop()
		if got, err := run(late, `{"command":"sleep 500"}`); err != nil || !got.Failed || !strings.Contains(got.Text, "ended after") {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestRefusals(t *testing.T) {
	workspace, o := home(t)
	o.Sandbox = "none"
	made, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for arguments, dir := range map[string]string{
		`{"command":"echo"}`:                "",
		`{"command":"echo 2"}`:              "workspace",
		`{"command":"echo 3"}`:              workspace + "/none",
		`{"command":""}`:                    workspace,
		`{"command":" \n"}`:                 workspace,
		`{"command":"a\u0000b"}`:            workspace,
		`{"command":7}`:                     workspace,
		`{"command":"echo","timeout_s":31}`: workspace,
		`{"command":"echo","timeout_s":-1}`: workspace,
		`{"command":"` + strings.Repeat("x", maxCommand+1) + `"}`: workspace,
	} {
		if got, err := made.Run(t.Context(), tool.Call{Workspace: dir, Arguments: json.RawMessage(arguments)}); !tool.IsRefusal(err) {
			t.Errorf("%.40s in %q: got %+v, %v, want a refusal", arguments, dir, got, err)
		}
	}
}

// TestBrokenLater: a sandbox that breaks after it was tried runs nothing, and the model is told no path.
func TestBrokenLater(t *testing.T) {
	tools(t, func(t *testing.T, run func(ctx context.Context, arguments string) (tool.Result, error)) {
		t.Setenv("TMPDIR", "/no/such/folder")
		got, err := run(t.Context(), `{"command":"echo ran"}`)
		if !tool.IsRefusal(err) || got.Text != "" || strings.Contains(err.Error(), "/no") || !strings.Contains(err.Error(), "[path]") {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestNew(t *testing.T) {
	_, good := home(t)
	good.Sandbox = "none"
	for name, c := range map[string]struct {
		change func(o *Options)
		want   string
	}{
		"too short":   {func(o *Options) { o.Timeout = time.Millisecond }, "time limit"},
		"too long":    {func(o *Options) { o.Timeout = 2 * time.Hour }, "time limit"},
		"a name only": {func(o *Options) { o.Env = []string{"SECRET"} }, "NAME=value"},
		"unknown":     {func(o *Options) { o.Sandbox = "docker" }, "docker"},
		"no keeper":   {func(o *Options) { o.Self = nil }, "starts itself"},
		"broken":      {func(o *Options) { o.Sandbox, o.Self = "", []string{"/bin/false"} }, "tools.exec.sandbox: none"},
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			c.change(&o)
			if made, err := New(o); made.Run != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestEntry: what the gate decides by.
func TestEntry(t *testing.T) {
	for mode, egress := range map[string]toolv1.Egress{"": toolv1.NoEgress, "auto": toolv1.NoEgress, "none": toolv1.Chosen} {
		got := Entry(Options{Sandbox: mode, Timeout: DefaultTimeout})
		if got.Name != "exec" || got.Level != toolv1.L3 || got.Egress != egress || got.Again || got.Shell != "command" || len(got.Fixes) > 0 ||
			!got.Untrusted || !got.Private || got.Timeout <= DefaultTimeout || !json.Valid(got.Schema) {
			t.Errorf("%q: got %+v", mode, got)
		}
	}
}
