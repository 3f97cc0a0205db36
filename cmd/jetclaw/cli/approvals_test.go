package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/approvals"
)

// asksFor is a message to the offline model that a person has to allow: whoever writes AGENTS.md writes every prompt.
const asksFor = `!tool write_file {"path": "AGENTS.md", "content": "be kind\nand \u001b[31mbrief"}`

// parked lets an agent ask for something, and returns the approval.
func (u *user) parked(args ...string) approvals.View {
	u.t.Helper()
	r := u.run(append([]string{"chat"}, args...)...)
	r.want(u.t, 3, "may write_file run?", "jetclaw approvals approve ")
	if r.stdout != "" {
		u.t.Errorf("stdout %q", r.stdout)
	}
	open := u.listed().Approvals
	if len(open) != 1 || !strings.Contains(r.stderr, "jetclaw approvals deny "+open[0].Approval+" ") {
		u.t.Fatalf("open %+v\n%s", open, r.stderr)
	}
	return open[0]
}

func (u *user) listed(args ...string) (l approvals.List) {
	u.t.Helper()
	r := u.run(append([]string{"approvals", "list", "--json"}, args...)...)
	r.want(u.t, 0)
	if err := json.Unmarshal([]byte(r.stdout), &l); err != nil {
		u.t.Fatalf("%v: %s", err, r.stdout)
	}
	return l
}

func (u *user) file(name string) string {
	u.t.Helper()
	data, err := os.ReadFile(filepath.Join(u.home, "workspace", name))
	if err != nil {
		u.t.Fatal(err)
	}
	return string(data)
}

// TestApprovalLater: without a terminal the call waits, and whoever allows it gets what it leads to, with no daemon at all.
func TestApprovalLater(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	v := u.parked(asksFor)
	if v.Status != "open" || v.Tool != "write_file" || v.Level != toolv1.L2 || !v.Always || len(v.Why) == 0 || v.Session != "main.terminal.local.default" {
		t.Errorf("%+v", v)
	}
	list := u.run("approvals", "list")
	list.want(t, 0, "jetclaw approvals show ID")
	if !strings.Contains(list.stdout, v.Approval) || !strings.Contains(list.stdout, "be kind and") || strings.Contains(list.stdout, "\x1b") {
		t.Errorf("%s", list.stdout)
	}
	show := u.run("approvals", "show", v.Approval)
	show.want(t, 0)
	for _, want := range []string{
		"status     open, since ", "session    main.terminal.local.default\n", "tool       write_file, run by builtin\n", "approvers  local\n", "level      L2\n",
		"always     would hold for write_file", "\nwhy it is asked:\n- It changes a file that every prompt begins with",
		"│ write_file\n│ content:\n│     be kind\n│     and \\u{1B}[31mbrief\n│ path: AGENTS.md\n", `│ {"content":"be kind\nand \u001b[31mbrief","path":"AGENTS.md"}`,
		"jetclaw approvals approve " + v.Approval + " [--always]\n",
	} {
		if !strings.Contains(show.stdout, want) {
			t.Errorf("no %q in\n%s", want, show.stdout)
		}
	}
	near := "b" + v.Approval[1:]
	for _, c := range []string{"show", "approve", "deny"} {
		u.run("approvals", c, near).want(t, 1, "there is no approval", "did you mean "+v.Approval+"?")
	}
	if before := u.file("AGENTS.md"); strings.Contains(before, "be kind") {
		t.Errorf("it has run:\n%s", before)
	}

	r := u.run("approvals", "approve", v.Approval)
	r.want(t, 0, "goes on in this process", "The tool write_file said:")
	if !strings.HasPrefix(r.stdout, "Approval "+v.Approval+": write_file was allowed once by local.") || u.file("AGENTS.md") != "be kind\nand \x1b[31mbrief" {
		t.Errorf("%s\n%s", r.stdout, u.file("AGENTS.md"))
	}
	again := u.run("approvals", "approve", v.Approval, "--json")
	again.want(t, 0)
	var a approvals.DecideAnswer
	if err := json.Unmarshal([]byte(again.stdout), &a); err != nil || !a.Already || a.Status != "allowed" || a.Approval != v.Approval {
		t.Errorf("%v %s", err, again.stdout)
	}
	u.run("approvals", "deny", v.Approval).want(t, 1, "the first answer counts")
	u.run("approvals", "approve", near).want(t, 1, "`jetclaw approvals list` shows those that are open")
	if l := u.listed(); len(l.Approvals) != 0 {
		t.Errorf("%+v", l)
	}
	if l := u.listed("--all", "--session", "default"); len(l.Approvals) != 1 || l.Approvals[0].Status != "allowed" || l.Approvals[0].By != "local" {
		t.Errorf("%+v", l)
	}
	all := u.run("approvals", "list", "--all")
	if !strings.Contains(all.stdout, "allowed  main.terminal.local.default  write_file  by local, ") {
		t.Errorf("%s", all.stdout)
	}
	show = u.run("approvals", "show", v.Approval)
	if !strings.Contains(show.stdout, "status     allowed\n") || !strings.Contains(show.stdout, "decision   allow-once\nby         local\n") {
		t.Errorf("%s", show.stdout)
	}
	u.run("approvals", "list").want(t, 0, "note: nothing waits for a decision")
}

func TestApprovalDenied(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	v := u.parked("--session", "work", asksFor)
	r := u.run("approvals", "deny", v.Approval, "--reason", "not that file")
	r.want(t, 0, "not that file") // the offline model repeats what it is told
	if !strings.Contains(r.stdout, "was denied by local. Reason: not that file") {
		t.Errorf("%s", r.stdout)
	}
	if strings.Contains(u.file("AGENTS.md"), "be kind") {
		t.Error("it has run")
	}
	if got := types(u.journal("--session", "work")); !slices.Contains(got, "call.denied.v1") || !slices.Contains(got, "turn.completed.v1") {
		t.Errorf("%q", got)
	}
}

// TestApprovalAsAMessage: it is answered in the conversation, and what it leads to is waited for.
func TestApprovalAsAMessage(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	v := u.parked(asksFor)
	r := u.run("chat", "/approve", v.Approval)
	r.want(t, 0, "The tool write_file said:")
	if !strings.Contains(r.stdout, "was allowed once by local") || u.file("AGENTS.md") != "be kind\nand \x1b[31mbrief" {
		t.Errorf("%s", r.stdout)
	}
}

func TestApprovalAlways(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	v := u.parked(asksFor)
	r := u.run("approvals", "approve", v.Approval, "--always", "--yes")
	r.want(t, 0)
	if !strings.Contains(r.stdout, "allowed always") {
		t.Errorf("%s", r.stdout)
	}
	u.run("chat", asksFor).want(t, 0)                       // without a question
	u.run("chat", "--session", "other", asksFor).want(t, 3) // elsewhere it was never allowed
	u.run("policy", "explain", "write_file", `{"path": "AGENTS.md", "content": "be kind\nand \u001b[31mbrief"}`, "--session", "default").want(t, 0)
	u.run("policy", "explain", "write_file", `{"path": "AGENTS.md", "content": "be kind\nand \u001b[31mbrief"}`).want(t, 3)
}

func TestApprovalEdited(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	v := u.parked(asksFor)
	for _, wrong := range []string{"", "no", "[1]", "null", `{"a": 1} {}`} {
		u.runIn(wrong, "approvals", "approve", v.Approval, "--edit", "-").want(t, 2, "have to be a JSON object")
	}
	u.runIn(`{"path": 1}`, "approvals", "approve", v.Approval, "--edit", "-").want(t, 1, "With these arguments it may not run")
	u.write("other.json", `{"path": "notes.md", "content": "other"}`)
	before := u.file("AGENTS.md")
	r := u.run("approvals", "approve", v.Approval, "--edit", filepath.Join(u.home, "other.json"))
	r.want(t, 0)
	if !strings.Contains(r.stdout, "with other arguments by local. It runs as:\n│ write_file ") || u.file("notes.md") != "other" || u.file("AGENTS.md") != before {
		t.Errorf("%s", r.stdout)
	}
}

// TestApprovalAtADaemon: it is the daemon that goes on, and nobody waits for it.
func TestApprovalAtADaemon(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	u := newUser(t, offlineYAML+httpYAML(address))
	d := u.start()
	v := u.parked(asksFor)
	for _, c := range []string{"approve", "deny", "show"} {
		r := u.run("__complete", "approvals", c, "")
		if !strings.HasPrefix(r.stdout, v.Approval+"\twrite_file content: be kind") {
			t.Errorf("completion of %s: %s", c, r.stdout)
		}
	}
	r := u.run("approvals", "approve", v.Approval)
	r.want(t, 0)
	if strings.Contains(r.stderr, "in this process") {
		t.Errorf("%s", r.stderr)
	}
	u.run("chat", "after it").want(t, 0) // is answered after the turn before
	if u.file("AGENTS.md") != "be kind\nand \x1b[31mbrief" {
		t.Error("it has not run")
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestCompletionStartsNothing(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	if r := u.run("__complete", "approvals", "approve", ""); r.stdout != ":36\n" && r.stdout != ":4\n" {
		t.Errorf("%q", r.stdout)
	}
	if _, err := os.Stat(filepath.Join(u.home, "data")); !os.IsNotExist(err) {
		t.Errorf("it has made a journal: %v", err)
	}
	v := u.parked(asksFor)
	n := len(u.journal())
	if r := u.run("__complete", "approvals", "approve", ""); !strings.HasPrefix(r.stdout, v.Approval+"\t") {
		t.Errorf("%q", r.stdout)
	}
	if got := len(u.journal()); got != n {
		t.Errorf("it has left %d events", got-n)
	}
}

// TestSandboxCommandReadsNothing: it is no command for people, and knows no configuration.
func TestSandboxCommandReadsNothing(t *testing.T) {
	t.Parallel()
	u := newUser(t, "modles: {}\n")
	if r := u.run("sandbox-exec", "--help"); r.code == 0 || r.stdout != "" || strings.Contains(r.stderr, "modles") {
		t.Errorf("%+v", r)
	}
	if r := u.run("--help"); strings.Contains(r.stdout, "sandbox") {
		t.Errorf("%s", r.stdout)
	}
}

func TestUnsafeExecIsTold(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+"tools: {exec: {enabled: true, sandbox: none}}\n"+httpYAML(freeAddress(t)))
	d := u.start()
	d.stderr.waitFor(t, "warning: ")
	if !strings.Contains(d.stderr.String(), "can do all that the user of this process can") {
		t.Errorf("%s", d.stderr)
	}
}
