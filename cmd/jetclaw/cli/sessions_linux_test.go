package cli

import (
	"strings"
	"testing"
)

// TestPruneAsks a person at a terminal.
func TestPruneAsks(t *testing.T) {
	t.Parallel()
	u := aged(t, "")
	term := u.open("sessions", "prune", "--dormant", "250d")
	term.shown.waitFor(t, "[y/N] ")
	term.press("n\r")
	if code := term.end(); code != 1 || !strings.Contains(term.shown.String(), "nothing was changed") {
		t.Errorf("exit %d:\n%s", code, term.shown)
	}
	term = u.open("sessions", "prune", "--dormant", "250d")
	term.shown.waitFor(t, "[y/N] ")
	term.press("\x03")
	if code := term.end(); code != 1 {
		t.Errorf("exit %d:\n%s", code, term.shown)
	}
	if n := len(u.journal()); n != 16 {
		t.Errorf("%d events are left", n)
	}
	term = u.open("sessions", "prune", "--dormant", "250d")
	term.shown.waitFor(t, "[y/N] ")
	if !strings.Contains(term.shown.String(), "total of 1 session ") {
		t.Errorf("it asks without saying what would go:\n%s", term.shown)
	}
	term.press("y\r")
	if code := term.end(); code != 0 || !strings.Contains(term.shown.String(), "1 session with 8 events") {
		t.Errorf("exit %d:\n%s", code, term.shown)
	}
	if n := len(u.journal()); n != 9 {
		t.Errorf("%d events are left", n)
	}
}
