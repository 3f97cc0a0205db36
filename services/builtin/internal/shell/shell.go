package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/builtin/internal/shell/sandbox"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

// Options are how commands run.
type Options struct {
	Sandbox string        // "auto" (also ""), "bwrap", "landlock" or "none"
	Timeout time.Duration // of one command at most, whole seconds; 0 is DefaultTimeout
	// Hidden are absolute paths that no command may see: the home's keys, run, data and jetclaw.yaml, and the workspaces of
	// the other agents.
	Hidden []string
	// Env are variables ("NAME=value") that commands have beside PATH, HOME, LANG, TERM and TMPDIR.
	Env []string
	// Self starts this binary so that it calls Main: {"/proc/self/exe", "sandbox-exec"}.
	Self []string
}

// DefaultTimeout bounds a command where nothing else is set.
const DefaultTimeout = 60 * time.Second

const (
	maxTimeout = time.Hour
	// slack is what a call may take beyond its command: to build the sandbox and to kill what is in it.
	slack      = 20 * time.Second
	maxCommand = 64 << 10 // bytes; Linux has 128 KiB for one argument
)

// errLimit is why a command ends whose time is up.
var errLimit = errors.New("time limit")

// Main is the process that stands between us and a command. Whoever starts Options.Self gets here.
func Main(args []string) int { return sandbox.Main(args) }

// New makes the tool. It tries the sandbox, which takes some milliseconds.
func New(o Options) (tool.Tool, error) {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Timeout < time.Second || o.Timeout > maxTimeout {
		return tool.Tool{}, fmt.Errorf("exec: a time limit of %s: it has to be from 1s to %s", o.Timeout, maxTimeout)
	}
	for _, v := range o.Env {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" || strings.ContainsRune(v, 0) {
			return tool.Tool{}, fmt.Errorf("exec: variable %q: it has to be NAME=value", name)
		}
	}
	box, err := sandbox.New(sandbox.Options{Mode: sandbox.Mode(o.Sandbox), Hidden: o.Hidden, Self: o.Self})
	if err != nil {
		return tool.Tool{}, fmt.Errorf("exec: %w", err)
	}
	return tool.Tool{Tool: Entry(o), Run: (&shell{box: box, timeout: o.Timeout, env: o.Env}).run}, nil
}

// Entry is what the catalogue says.
func Entry(o Options) toolv1.Tool {
	what, egress, warning := "There is no network, and only the workspace and $TMPDIR can be written.", toolv1.NoEgress, ""
	if o.Sandbox == string(sandbox.None) {
		what, egress = "It is not sandboxed.", toolv1.Chosen
		warning = "It is not sandboxed here: the command can do all that the user of this process can."
	}
	limit := int(o.Timeout / time.Second)
	return toolv1.Tool{
		Name: "exec", Warning: warning,
		Description: fmt.Sprintf("Runs a command with /bin/sh in the workspace and returns what it prints (output and errors, of much "+
			"output the beginning and the end) and how it ended. %s Its input is empty. It is killed after %d seconds, and all that "+
			"it has started when it exits.", what, limit),
		Schema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
			`"command":{"type":"string","minLength":1,"maxLength":%d,"description":"the command, for sh -c"},`+
			`"timeout_s":{"type":"integer","minimum":1,"maximum":%d,"description":"seconds after which it is killed; default %[2]d"}},`+
			`"required":["command"],"additionalProperties":false}`, maxCommand, limit)),
		Level:     toolv1.L3,
		Egress:    egress,
		Timeout:   o.Timeout + slack,
		Untrusted: true, // programs print what others wrote
		Private:   true, // and the workspace holds files about the person
		Shell:     "command",
	}
}

type shell struct {
	box     *sandbox.Box
	timeout time.Duration
	env     []string
}

func (s *shell) run(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := tool.Read[struct {
		Command string `json:"command"`
		Timeout int    `json:"timeout_s"`
	}](c)
	if err != nil {
		return tool.Result{}, err
	}
	limit := s.timeout
	switch {
	case !filepath.IsAbs(c.Workspace):
		return tool.Result{}, tool.Refuse("this agent has no workspace to run commands in")
	case strings.TrimSpace(args.Command) == "" || len(args.Command) > maxCommand || strings.ContainsRune(args.Command, 0):
		return tool.Result{}, tool.Refuse("command: it has to be text of 1 to %d bytes", maxCommand)
	case args.Timeout < 0 || args.Timeout > int(limit/time.Second):
		return tool.Result{}, tool.Refuse("timeout_s: at most %d", limit/time.Second)
	case args.Timeout > 0:
		limit = time.Duration(args.Timeout) * time.Second
	}
	begun := time.Now()
	within, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	var out capture
	st, err := s.box.Run(within, sandbox.Command{Text: args.Command, Dir: c.Workspace, Env: s.environment(c.Workspace)}, &out)
	switch {
	case errors.Is(err, sandbox.ErrPlace):
		return tool.Result{}, tool.Refuse("commands cannot run in this workspace: it is no folder, or it holds files that they must not see")
	case errors.Is(err, sandbox.ErrUnknown):
		return tool.Result{}, &failure{err}
	case err != nil:
		return tool.Result{}, tool.Refuse("the sandbox could not be built, and nothing was run: %s", pathless(err))
	case st.Ended && errors.Is(ctx.Err(), context.Canceled):
		return tool.Result{}, context.Cause(ctx)
	}
	took := time.Since(begun)
	if context.Cause(within) == errLimit { //nolint:errorlint // our own, not wrapped
		took = limit // what it takes to kill it is not its time
	}
	text, cut := out.result()
	return tool.Result{Text: text + ending(st, took), Cut: cut, Failed: st != sandbox.Status{}, Untrusted: true, Private: true}, nil
}

// failure is an error of the sandbox. To the model it names no paths; whoever unwraps it sees them.
type failure struct{ cause error }

func (f *failure) Error() string { return pathless(f.cause) }

func (f *failure) Unwrap() error { return f.cause }

var paths = regexp.MustCompile(`(^|[^\w.~-])/[^\s"':;,)]*`)

func pathless(err error) string { return paths.ReplaceAllString(err.Error(), "$1[path]") }

// environment is all that a command inherits.
func (s *shell) environment(workspace string) []string {
	return append([]string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + workspace, "LANG=C.UTF-8", "TERM=dumb",
	}, s.env...)
}

// ending is the last line of a result.
func ending(st sandbox.Status, took time.Duration) string {
	switch {
	case st.Ended:
		return fmt.Sprintf("ended after %d s: its time was up; it was killed, with all that it had started", int(took.Round(time.Second)/time.Second))
	case st.Signal != "":
		return "killed by signal " + st.Signal
	}
	return fmt.Sprintf("exit code %d", st.Code)
}
