package check

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
)

// underFilter makes this test binary load a filter of system calls and become another program.
const underFilter = "under-filter"

// runUnderFilter takes the names of system calls that are allowed in a file, then a command; all others get EPERM, as the units say.
func runUnderFilter(args []string) int {
	data, err := os.ReadFile(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	policy := seccomp.Policy{
		DefaultAction: seccomp.ActionErrno, // EPERM
		Syscalls:      []seccomp.SyscallGroup{{Action: seccomp.ActionAllow, Names: strings.Fields(string(data))}},
	}
	err = seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: policy})
	if err == nil {
		err = syscall.Exec(args[1], args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// systemCalls are those that the lines SystemCallFilter of a unit leave, by the sets that this systemd knows.
func systemCalls(t *testing.T, unit string) []string {
	t.Helper()
	analyze := tool(t, "systemd-analyze", "systemd")
	var expand func(word string) []string
	expand = func(word string) []string {
		if !strings.HasPrefix(word, "@") {
			return []string{word}
		}
		var all []string
		for line := range strings.Lines(run(t, exec.Command(analyze, "syscall-filter", "--no-pager", word))) {
			line = strings.TrimSpace(line)
			if line != "" && line != word && !strings.HasPrefix(line, "#") {
				all = append(all, expand(line)...)
			}
		}
		return all
	}
	allowed := map[string]bool{}
	for _, name := range expand("@default") {
		allowed[name] = true
	}
	lines := 0
	for line := range strings.Lines(readFile(t, filepath.Join(deployDir, "systemd", unit))) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), "SystemCallFilter=")
		if !ok {
			continue
		}
		lines++
		value, not := strings.CutPrefix(value, "~")
		for word := range strings.FieldsSeq(value) {
			for _, name := range expand(word) {
				allowed[name] = !not
			}
		}
	}
	if lines == 0 {
		t.Fatalf("%s filters nothing", unit)
	}
	return slices.DeleteFunc(known(t, allowed), func(name string) bool { return !allowed[name] })
}

// known leaves out system calls of other machines.
func known(t *testing.T, allowed map[string]bool) []string {
	t.Helper()
	var names []string
	for name := range allowed {
		f := seccomp.Policy{DefaultAction: seccomp.ActionErrno, Syscalls: []seccomp.SyscallGroup{{Action: seccomp.ActionAllow, Names: []string{name}}}}
		if _, err := f.Assemble(); err == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestUnderTheFilterOfTheUnit runs jetclaw with the system calls that its unit leaves it, as systemd would: a turn with its journal,
// and the sandbox of exec as far as this kernel has one.
func TestUnderTheFilterOfTheUnit(t *testing.T) {
	names := systemCalls(t, "jetclaw.service")
	for _, never := range []string{"mount", "ptrace", "bpf", "setuid", "chown", "reboot", "init_module", "perf_event_open"} {
		if slices.Contains(names, never) {
			t.Errorf("%s is allowed", never)
		}
	}
	list := filepath.Join(t.TempDir(), "calls")
	writeFile(t, list, strings.Join(names, "\n"))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	writeFile(t, filepath.Join(home, "jetclaw.yaml"), "tools: {exec: {enabled: true}}\npolicy: {allow: []}\n")
	under := func(args ...string) (string, error) {
		c := exec.CommandContext(t.Context(), self, append([]string{underFilter, list, jetclaw(t)}, args...)...)
		c.Env = []string{"JETCLAW_HOME=" + home, "HOME=" + home, "PATH=" + os.Getenv("PATH")}
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := under("chat", "hello"); err != nil || !strings.Contains(out, "hello") {
		t.Errorf("a turn: %v\n%s", err, out)
	}
	// exec asks a person first: the call is parked (exit code 3), approved, and carried out by whoever runs then.
	out, err := under("chat", `!tool exec {"command":"echo from the sandbox"}`)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Fatalf("exec is not offered under the filter: %v\n%s", err, out)
	}
	out, err = under("approvals", "list")
	fields := strings.Fields(out)
	i := slices.Index(fields, "runs") // the last word of the heading
	if err != nil || i < 0 || i+1 >= len(fields) {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err = under("approvals", "approve", fields[i+1]); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err = under("events", "--json"); err != nil || strings.Count(out, "from the sandbox") < 3 || !strings.Contains(out, `"call.completed.v1"`) {
		t.Errorf("exec under the filter: %v\n%s", err, out)
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, `"call.completed.v1"`) {
			if !strings.Contains(line, `"outcome":"ok"`) || !strings.Contains(line, "exit code 0") {
				t.Errorf("the sandbox: %s", line)
			}
		}
	}
}
