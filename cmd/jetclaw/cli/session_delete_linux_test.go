package cli

import (
	"strings"
	"testing"
)

// TestDeleteAsks a person at a terminal.
func TestDeleteAsks(t *testing.T) {
	t.Parallel()
	u := spoken(t)
	term := u.open("sessions", "delete", "older")
	term.shown.waitFor(t, "[y/N] ")
	if got := term.shown.String(); !strings.Contains(got, "main.terminal.local.older: 8 events, of which 2 messages, from 20") ||
		!strings.Contains(got, "delete main.terminal.local.older for good?") {
		t.Errorf("%s", got)
	}
	term.press("n\r")
	if code := term.end(); code != 1 || !strings.Contains(term.shown.String(), "nothing was changed") {
		t.Errorf("exit %d:\n%s", code, term.shown)
	}
	if n := len(u.journal()); n != 16 {
		t.Errorf("%d events are left", n)
	}
	term = u.open("sessions", "delete", "older")
	term.shown.waitFor(t, "[y/N] ")
	term.press("y\r")
	if code := term.end(); code != 0 || !strings.Contains(term.shown.String(), "is deleted: 8 events removed") {
		t.Errorf("exit %d:\n%s", code, term.shown)
	}
	if n := len(u.journal()); n != 9 {
		t.Errorf("%d events are left", n)
	}
}

// TestShownOnATerminal: what a model has written is rendered there.
func TestShownOnATerminal(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	u.run("chat", "say **this**").want(t, 0)
	term := u.open("sessions", "show", "default")
	if code := term.end(); code != 0 || !strings.Contains(term.shown.String(), "local") || strings.Count(term.shown.String(), "say **this**") != 1 {
		t.Errorf("exit %d:\n%s", code, term.shown)
	}
}
