package cli

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// said are the messages of the home's journal.
func (u *user) said(args ...string) (texts []string) {
	for _, e := range u.journal(args...) {
		if data, ok := e.Data.(map[string]any); ok && e.Type == "message.received.v1" {
			texts = append(texts, fmt.Sprint(data["text"]))
		}
	}
	return texts
}

func TestEditing(t *testing.T) {
	t.Parallel()
	u := newUser(t, "", newFakeModel(t).env()...)
	term := u.open("chat")
	term.shown.waitFor(t, "> ")
	term.press("wrld\x1b[D\x1b[D\x1bODo\x1bOP\x1b[15~\r")
	term.shown.waitFor(t, "re: world\n> ")
	term.press("\x1b[A!\r") // the line before, and more
	term.shown.waitFor(t, "re: world!\n> ")
	term.press("\x1b[200~two\r\n\tlines\x1b[31m\x1b[201~\r")
	term.shown.waitFor(t, "re: two\nlines\n> ")
	long := strings.Repeat("0123456789", 1000)
	term.press(long + "\r")
	term.shown.waitFor(t, "re: "+long)
	term.press("/foo\r")
	term.shown.waitFor(t, "there is no command /foo")
	term.press("/help\r")
	term.shown.waitFor(t, "All else is for the agent.\n> ")
	term.press("/new\r")
	if shown := term.shown.waitFor(t, "A new beginning.\n> "); !strings.HasSuffix(shown, "> /new\nA new beginning.\n> ") {
		t.Errorf("a stray prompt:\n%q", shown[len(shown)-100:])
	}
	term.press("/quit\r")
	if code := term.end(); code != 0 {
		t.Errorf("exit %d", code)
	}
	want := []string{"world", "world!", "two\n\tlines", long}
	if got := u.said(); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %.200q", got)
	}
}

// TestHalfTyped has an answer come from elsewhere: what was asked is shown with it, and what is half typed stays.
func TestHalfTyped(t *testing.T) {
	t.Parallel()
	model, address := newFakeModel(t), freeAddress(t)
	u := newUser(t, httpYAML(address), model.env()...)
	d := u.start()
	term := u.open("chat")
	term.shown.waitFor(t, "> ")
	term.press("half")
	term.shown.waitFor(t, "> half")
	u.run("chat", "elsewhere").want(t, 0)
	term.shown.waitFor(t, dim+"local: elsewhere"+plain+"\n")
	term.shown.waitFor(t, "re: elsewhere")
	term.shown.waitFor(t, "\nhalf\x1b[4D\x1b[K> half") // drawn again below it, with the prompt
	term.press(" typed\r")
	term.shown.waitFor(t, "re: half typed\n> ")
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	term.shown.waitFor(t, "The daemon is gone.")
	u.start()
	if shown := term.shown.waitFor(t, "It is back.\n> "); strings.Count(shown, "The daemon is gone.") != 1 {
		t.Errorf("%s", shown)
	}
	if err := syscall.Kill(term.pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := term.end(); code != 128+int(syscall.SIGTERM) || !strings.Contains(term.shown.String(), "\x1b[?2004l") {
		t.Errorf("exit %d\n%q", code, term.shown)
	}
}
