package cli

import (
	"strings"
	"testing"
)

const marked = "# title\n\nsome **bold** words\n\n- one\n- two &#27;[2J\n\n```sh\nls   -l\n```\n"

// answered is what a terminal shows of the fake model's answer to it.
const answered = `re: # title

some bold words

• one
• two [2J

` + "```sh\nls   -l\n```"

// paste is a text as a terminal hands it in.
func paste(text string) string { return textBegins + strings.ReplaceAll(text, "\n", "\r") + textEnds }

func TestAnswersAreRendered(t *testing.T) {
	t.Parallel()
	u := newUser(t, "", newFakeModel(t).env()...)
	once := u.open("chat", marked)
	if code := once.end(); code != 0 || !strings.HasSuffix(once.screen(usual), "\n"+answered) {
		t.Errorf("exit %d\n%s", code, once.screen(usual))
	}
	if !strings.Contains(once.shown.String(), "\x1b[1mbold\x1b[0m") {
		t.Errorf("%q", once.shown)
	}
	term := u.open("chat")
	term.shown.waitFor(t, "> ")
	term.press(paste(marked) + "\r")
	term.shown.waitFor(t, "ls   -l\x1b[0m\n\x1b[2m```\x1b[0m\n> ")
	term.press("/quit\r")
	if code := term.end(); code != 0 || !strings.Contains(term.screen(usual), "\n"+answered+"\n> /quit") {
		t.Errorf("exit %d\n%s", code, term.screen(usual))
	}
	// Not on a terminal: as it is.
	r := u.run("chat", marked)
	r.want(t, 0)
	if want := "re: " + marked; r.stdout != want {
		t.Errorf("%q, want %q", r.stdout, want)
	}
}

func TestPlainTerminals(t *testing.T) {
	t.Parallel()
	model := newFakeModel(t)
	for env, want := range map[string]string{
		"NO_COLOR=1": "re: some **bold** words: • one\n",
		"TERM=dumb":  "re: some **bold** words: &bull; one\n",
	} {
		u := newUser(t, "", append(model.env(), env)...)
		term := u.open("chat", "some **bold** words: &bull; one")
		if code := term.end(); code != 0 || !strings.HasSuffix(term.shown.String(), want) {
			t.Errorf("%s: exit %d\n%q", env, code, term.shown)
		}
		if strings.Contains(term.shown.String(), "\x1b[1m") || strings.Contains(term.shown.String(), dim) {
			t.Errorf("%s: %q", env, term.shown)
		}
	}
}

// TestTypingDuringAnAnswer: what is half typed takes the line of the half answer, and both are there in the end.
func TestTypingDuringAnAnswer(t *testing.T) {
	t.Parallel()
	model := newFakeModel(t)
	u := newUser(t, "", model.env()...)
	term := u.open("chat")
	term.shown.waitFor(t, "> ")
	term.press(paste("**hold**\n\nthis") + "\r")
	<-model.began
	term.bytes.waitFor(t, dim+"re: "+plain+"\r")
	term.press("nex")
	term.bytes.waitFor(t, dim+"re: "+plain+"\r"+eraseLine)
	close(model.hold)
	term.shown.waitFor(t, "> nex") // the prompt is back
	term.press("t\r")
	term.shown.waitFor(t, "re: next\n> ")
	term.press("/quit\r")
	if code := term.end(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if strings.Contains(term.bytes.String(), dim+"this") {
		t.Errorf("the half answer was drawn over what was typed:\n%q", term.bytes)
	}
	if got, want := term.screen(usual), "> **hold**␤␤this\nre: hold\n\nthis\n> next\nre: next\n> /quit"; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
