package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/services/turns"
)

// lines are a session's events, as they are printed for scripts.
func (u *user) lines(name string) string {
	u.t.Helper()
	r := u.run("events", "--json", "--session", name)
	r.want(u.t, 0)
	return r.stdout
}

// cursorOf is that of the last event of a type in a session.
func (u *user) cursorOf(name, typ string) (cursor uint64) {
	u.t.Helper()
	for _, e := range u.journal("--session", name) {
		if e.Type == typ {
			cursor = e.Cursor
		}
	}
	if cursor == 0 {
		u.t.Fatalf("%s has no %s", name, typ)
	}
	return cursor
}

// TestFork: forked at a tool result that is edited, the conversation goes on with the new text; the original stays as it was,
// and diff shows where they part.
func TestFork(t *testing.T) {
	t.Parallel()
	u := newUser(t, quietYAML)
	u.run("chat", "hello").want(t, 0)
	u.run("chat", "!tool now {}").want(t, 0)
	before := u.lines("default")
	at := u.cursorOf("default", "call.completed.v1")
	file := filepath.Join(t.TempDir(), "edit")
	if err := os.WriteFile(file, []byte("half past \x1b[31mnine\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := u.run("fork", "default", "--at", fmt.Sprint(at), "--edit", file)
	name := fmt.Sprintf("default-at-%d", at)
	r.want(t, 0, fmt.Sprintf("up to event %d, event %d of it edited; go on with: jetclaw chat --session %s\n", at, at, name))
	if !strings.HasPrefix(r.stdout, "main.terminal.local."+name+"\nThe tool now said: ") || !strings.Contains(r.stdout, "half past [31mnine") {
		t.Errorf("%q", r.stdout)
	}
	if now := u.lines("default"); now != before {
		t.Errorf("the original was\n%s\nand is\n%s", before, now)
	}
	if list := types(u.journal("--session", name)); strings.Join(list, " ") != "session.forked.v1 turn.continued.v1 turn.completed.v1 delivery.sent.v1" {
		t.Errorf("%q", list)
	}
	if r := u.run("events", "--session", name); !strings.Contains(r.stdout, fmt.Sprintf("from main.terminal.local.default at %d, by cli, event %d edited\n", at, at)) {
		t.Errorf("%s", r.stdout)
	}
	if r := u.run("chat", "--session", name, "and now?"); r.code != 0 || !strings.Contains(r.stdout, `You said: "and now?" (offline model)`) {
		t.Errorf("%+v", r)
	}

	r = u.run("diff", "default", name)
	r.want(t, 1)
	for _, want := range []string{
		"< main.terminal.local.default\n> main.terminal.local." + name + "\nboth begin with 5 entries, up to event ",
		fmt.Sprintf("\nevent %d was edited\n< ", at), "half past [31mnine\n", "\nmain.terminal.local.default goes on with 1 entry\n< ",
		"goes on with 3 entries\n> ", "message.received   local: and now?\n",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	var d parting
	r = u.run("diff", "default", name, "--json")
	r.want(t, 1)
	if err := json.Unmarshal([]byte(r.stdout), &d); err != nil || d.Same || d.Common != 5 || len(d.Edited) != 1 || len(d.LeftOnly) != 1 || len(d.RightOnly) != 3 {
		t.Errorf("%v: %s", err, r.stdout)
	}
	if r := u.run("diff", name, name); r.code != 0 || !strings.Contains(r.stdout, "are the same: 8 entries\n") {
		t.Errorf("%+v", r)
	}

	// Beside a daemon, as a script does it.
	daemon := u.start()
	r = u.runIn("at noon", "fork", name, "--as", "again", "--edit", "-", "--edit-at", fmt.Sprint(at), "--json")
	var got turns.Forked
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || got.Session != "main.terminal.local.again" || got.Waits {
		t.Errorf("%v: %+v", err, r)
	}
	if r := u.run("diff", name, "again"); r.code != 1 || !strings.Contains(r.stdout, fmt.Sprintf("event %d was edited", at)) || strings.Contains(r.stdout, "goes on") {
		t.Errorf("%+v", r)
	}
	u.run("fork", "default", "--as", "again").want(t, 1, "there is a session main.terminal.local.again already")
	if code := daemon.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestForkActsForNobody: a question to a person is not one of the fork, and what was allowed there for always is not here.
func TestForkActsForNobody(t *testing.T) {
	t.Parallel()
	u := newUser(t, quietYAML)
	u.run("chat", asksFor).want(t, 3)
	r := u.run("fork", "default", "--as", "asked")
	r.want(t, 0)
	if !strings.Contains(r.stdout, "not run in this fork") {
		t.Errorf("%+v", r)
	}
	var id string
	for _, e := range u.journal("--session", "default") {
		if b, ok := e.Data.(map[string]any); ok && e.Type == "approval.requested.v1" {
			id, _ = b["approval"].(string)
		}
	}
	u.run("approvals", "approve", id, "--always").want(t, 0)
	r = u.run("fork", "default", "--as", "allowed")
	r.want(t, 0)
	u.run("chat", "--session", "default", asksFor).want(t, 0) // there it is allowed
	u.run("chat", "--session", "allowed", asksFor).want(t, 3)
	for _, name := range []string{"asked", "allowed"} {
		list := strings.Join(types(u.journal("--session", name)), " ")
		if strings.Contains(list, "call.dispatched") || strings.Contains(list, "call.started") {
			t.Errorf("%s: %s", name, list)
		}
	}
}

func TestForkRefusals(t *testing.T) {
	t.Parallel()
	u := newUser(t, quietYAML)
	u.run("chat", "hello").want(t, 0)
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"fork", 2, "takes one session"},
		{"fork a.b", 2, "SESSION"},
		{"fork nobody", 1, "there is no session main.terminal.local.nobody"},
		{"fork default --at x", 2, "--at"},
		{"fork default --at 9999", 1, "its events are among"},
		{"fork default --edit-at 1", 2, "add --edit FILE"},
		{"fork default --edit x", 2, "add --edit-at CURSOR"},
		{"fork default --at 1 --edit /no/such/file", 2, "--edit: open /no/such/file"},
		{"fork default --as main.telegram.bot.1", 1, "name a session of the terminal"},
		{"fork default --as nobody.terminal.local.x", 2, `--as nobody.terminal.local.x: there is no agent "nobody"`},
		{"fork default --as a.b", 2, "--as"},
		{"fork default --model nope", 1, `There is no model "nope"`},
		{"diff default", 2, "takes two sessions"},
		{"diff default nobody", 2, "there is no session main.terminal.local.nobody"},
		{"diff x.y default", 2, "SESSION"},
		{"rerun default --dry", 2, "--turn is missing"},
		{"rerun default --turn 1", 2, "--dry is missing. A rerun never acts"},
		{"rerun nobody --turn 1 --dry", 1, "there is no session main.terminal.local.nobody"},
		{"rerun default --turn 7 --dry", 1, "name one by its number, 1 to 1"},
	} {
		r := u.run(strings.Fields(c.args)...)
		if r.code != c.code || !strings.Contains(r.stderr, c.says) || r.stdout != "" {
			t.Errorf("%s: exit %d, want %d\n%s%s", c.args, r.code, c.code, r.stdout, r.stderr)
		}
	}
	if r := u.runIn("\xff", "fork", "default", "--edit", "-", "--edit-at", "1"); r.code != 2 || !strings.Contains(r.stderr, "stdin is not UTF-8") {
		t.Errorf("%+v", r)
	}
	if n := len(u.journal()); n != 4 {
		t.Errorf("%d events", n)
	}
}
