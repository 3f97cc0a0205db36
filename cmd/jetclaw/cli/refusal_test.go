package cli

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestModelThatCannotBeUsed: what was asked for is never replaced by the offline model.
func TestModelThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	u := newUser(t, "models: {default: a/q, providers: {a: {api: anthropic, api_key: \"env:NO_KEY\"}}}\n")
	for _, args := range [][]string{{"config", "check"}, {"chat", "x"}, {"run"}} {
		u.run(args...).want(t, 11, "env:NO_KEY: the environment variable is not set")
	}
	u = newUser(t, "models: {default: openai/q}\n")
	for _, args := range [][]string{{"config", "check"}, {"chat", "x"}, {"run"}} {
		u.run(args...).want(t, 10, "jetclaw.yaml:1:19: models.default: no provider", "add there: openai: {api: openai")
	}
	for variable, code := range map[string]int{"OPENAI_BASE_URL=nowhere": 10, "OPENAI_API_KEY=two words": 11} {
		u := newUser(t, "", variable)
		name, _, _ := strings.Cut(variable, "=")
		for _, args := range [][]string{{"config", "check"}, {"chat", "x"}, {"run"}} {
			u.run(args...).want(t, code, name)
		}
	}
}

func TestAllSecretsAtOnce(t *testing.T) {
	t.Parallel()
	u := newUser(t, `channels: {http: {callback: {url: "https://x.example", token: "env:NO_TOKEN"}}}
models: {default: p/m, providers: {p: {api_key: "env:NO_KEY"}}}
`)
	r := u.run("config", "check")
	r.want(t, 11, "env:NO_TOKEN", "env:NO_KEY")
	if lines := strings.Split(strings.TrimSpace(r.stderr), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[1], "jetclaw: ") {
		t.Errorf("%s", r.stderr)
	}
}

func TestHomeOfAConversation(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	term := u.open("chat")
	term.shown.waitFor(t, "> ")
	for _, args := range [][]string{{"events"}, {"chat", "x"}, {"run"}} {
		r := u.run(args...)
		r.want(t, 12, fmt.Sprintf("a conversation (process %d) has this home for itself", term.pid), "jetclaw run")
		if strings.Contains(r.stderr, "kill") {
			t.Errorf("%s", r.stderr)
		}
	}
	term.press("\x04")
	if code := term.end(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestNoEvents(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	u.run("events").want(t, 0, "the journal is empty")
	u.run("chat", "--session", "main.http.default.x", "hi").want(t, 0)
	u.run("events", "--session", "x").want(t, 0, "no session main.terminal.local.x", "did you mean main.http.default.x?")
	u.run("events", "--session", "y").want(t, 0, "no session main.terminal.local.y")
	u.run("events", "--since", "999").want(t, 1, "no cursor 999: it begins at 1 and ends at 4")
	if n := len(u.journal("--since", "5d")); n != 4 {
		t.Errorf("%d events in five days", n)
	}
}

// TestTwoSignalsAtOnce: timeout(1) sends two, and means one.
func TestTwoSignalsAtOnce(t *testing.T) {
	t.Parallel()
	model, address := newFakeModel(t), freeAddress(t)
	u := newUser(t, httpYAML(address), model.env()...)
	d := u.start()
	var got receipt
	u.call("POST", "http://"+address+"/v1/messages", `{"session":"a","text":"hold on"}`, &got)
	<-model.began
	for range 2 {
		if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		d.stderr.waitFor(t, "running turns may finish")
	}
	later := time.AfterFunc(2*sameWish, func() { close(model.hold) })
	defer later.Stop()
	if code := codeOf(t, <-d.ended); code != 0 || strings.Contains(d.stderr.String(), "ending at once") {
		t.Errorf("exit %d\n%s", code, d.stderr)
	}
	if got := types(u.journal()); got[len(got)-1] != "delivery.sent.v1" {
		t.Errorf("the turn was cut short: %q", got)
	}
}
