package cli

import (
	"strings"
	"testing"
)

// asksInline is what a question ends with, when it can be answered.
const asksInline = "[y]es, [a]lways, [n]o? "

func TestApprovalInline(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"y": "was allowed once by local", "A": "was allowed always by local", "no": "was denied by local"} {
		u := newUser(t, offlineYAML)
		term := u.open("chat", asksFor)
		term.shown.waitFor(t, "│     and \\u{1B}[31mbrief\n")
		term.shown.waitFor(t, asksInline)
		term.press("perhaps\n")
		term.shown.waitFor(t, asksInline+"perhaps\n"+asksInline)
		term.press(key + "\n")
		term.shown.waitFor(t, want)
		if code := term.end(); code != 0 {
			t.Errorf("%s: exit %d\n%s", key, code, term.shown)
		}
		if has := strings.Contains(u.file("AGENTS.md"), "be kind"); has != (key != "no") {
			t.Errorf("%s: run is %t", key, has)
		}
		if n := strings.Count(term.shown.String(), "may write_file run?"); n != 1 {
			t.Errorf("%s: asked %d times", key, n)
		}
	}
}

// TestApprovalsInline: a step with two calls asks twice. What is dangerous is never allowed for always, and what was typed
// before a question could be read answers nothing.
func TestApprovalsInline(t *testing.T) {
	t.Parallel()
	model := newFakeModel(t)
	u := newUser(t, "tools: {exec: {enabled: true, sandbox: none}}\n", model.env()...)
	term := u.open("chat", "call exec {\"command\":\"echo made > made\"}\ncall write_file {\"path\":\"SOUL.md\",\"content\":\"x\"}")
	term.press("y\n")
	term.shown.waitFor(t, "│ command: echo made > made\n")
	shown := term.shown.waitFor(t, "[y]es, [n]o? ")
	if strings.Contains(shown, "Always would hold for: exec") || !strings.Contains(shown, unread) {
		t.Errorf("%s", shown)
	}
	term.press("a\n")
	term.shown.waitFor(t, noAlways)
	term.press("y\ny\n")
	term.shown.waitFor(t, "exec was allowed once")
	term.shown.waitFor(t, "│ path: SOUL.md\n")
	term.shown.waitFor(t, unread+"\n"+asksInline)
	term.press("y\n")
	term.shown.waitFor(t, "re: ")
	if code := term.end(); code != 0 || u.file("SOUL.md") != "x" || u.file("made") != "made\n" {
		t.Errorf("exit %d\n%s", code, term.shown)
	}
}

// TestApprovalLeftInline: Ctrl-C leaves the question where it is.
func TestApprovalLeftInline(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	for _, leave := range []string{string(ctrlC), string(ctrlD)} {
		term := u.open("chat", "--session", "s"+map[string]string{string(ctrlC): "c", string(ctrlD): "d"}[leave], asksFor)
		term.shown.waitFor(t, asksInline)
		term.press(leave)
		if code := term.end(); code != 3 || !strings.Contains(term.shown.String(), "Answer it with\n  jetclaw approvals approve ") {
			t.Errorf("exit %d\n%s", code, term.shown)
		}
	}
	if l := u.listed(); len(l.Approvals) != 2 {
		t.Errorf("%+v", l)
	}
}

// TestApprovalElsewhere: what another terminal decides ends the question here.
func TestApprovalElsewhere(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+httpYAML(freeAddress(t)))
	u.start()
	once := u.open("chat", "--session", "one", asksFor)
	once.shown.waitFor(t, asksInline)
	u.run("approvals", "approve", u.listed().Approvals[0].Approval).want(t, 0)
	once.shown.waitFor(t, "The tool write_file said")
	if code := once.end(); code != 0 {
		t.Errorf("exit %d\n%s", code, once.shown)
	}
	talk := u.open("chat", "--session", "two")
	talk.shown.waitFor(t, "> ")
	talk.press(asksFor + "\n")
	talk.shown.waitFor(t, asksInline)
	u.run("approvals", "deny", u.listed().Approvals[0].Approval, "--reason", "no \x1b[31mway").want(t, 0)
	talk.shown.waitFor(t, "was denied by local. Reason: no ")
	talk.press("/quit\n")
	if code := talk.end(); code != 0 || strings.Contains(talk.bytes.String(), "\x1b[31mway") {
		t.Errorf("exit %d\n%s", code, talk.shown)
	}
}

// TestApprovalConfirmed: on a terminal `approve` shows what it is about, and no is no decision.
func TestApprovalConfirmed(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	v := u.parked(asksFor)
	term := u.open("approvals", "approve", v.Approval, "--always")
	term.shown.waitFor(t, "│ path: AGENTS.md\n")
	term.shown.waitFor(t, "allow it, and from now on? [y/N] ")
	term.press("n\n")
	if code := term.end(); code != 1 || u.listed().Approvals[0].Approval != v.Approval {
		t.Errorf("exit %d\n%s", code, term.shown)
	}
	term = u.open("approvals", "approve", v.Approval)
	term.shown.waitFor(t, "allow it once? [y/N] ")
	term.press("y\n")
	if code := term.end(); code != 0 || !strings.Contains(term.shown.String(), "was allowed once") {
		t.Errorf("exit %d\n%s", code, term.shown)
	}
}

// TestConversationAsks: one letter answers, a question that was left is asked again, and the commands do it as well.
func TestConversationAsks(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	term := u.open("chat")
	term.shown.waitFor(t, "> ")
	term.press(asksFor + "\n")
	term.shown.waitFor(t, asksInline+"(anything else is a message)\n> ")
	term.press("/quit\n")
	if code := term.end(); code != 0 || !strings.Contains(term.shown.String(), "A question stays open") {
		t.Errorf("exit %d\n%s", code, term.shown)
	}
	term = u.open("chat")
	term.shown.waitFor(t, asksInline+"(anything else is a message)\n> ")
	term.press("Y\n")
	term.shown.waitFor(t, "was allowed once by local")
	term.shown.waitFor(t, "The tool write_file said")
	term.press("n\n") // nothing is asked: a message
	term.shown.waitFor(t, `You said: "n"`)
	term.press("/approve\n")
	term.shown.waitFor(t, "There is nothing to decide here.")
	term.press(asksFor + "\n")
	term.shown.waitCount(t, asksInline, 2)
	term.press("/deny because\n")
	term.shown.waitFor(t, "was denied by local. Reason: because")
	term.press("/quit\n")
	if code := term.end(); code != 0 {
		t.Errorf("exit %d\n%s", code, term.shown)
	}
}
