package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

func serve(t *testing.T, answer http.HandlerFunc) (url string) {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL
}

func (u *user) letters(n int) (all []letter) {
	u.t.Helper()
	var l struct{ Letters []letter }
	r := u.run("dead", "list", "--json")
	r.want(u.t, 0)
	if err := json.Unmarshal([]byte(r.stdout), &l); err != nil || len(l.Letters) != n {
		u.t.Fatalf("%s: %v, want %d", r.stdout, err, n)
	}
	return l.Letters
}

func TestDead(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n")
	d := u.start()
	u.letters(0)
	u.run("dead", "list").want(t, 0, "no doorbell was given up")
	u.run("dead", "show", "1").want(t, 1, "there is no dead letter 1; there is none at all")
	u.run("dead", "retry", "--all").want(t, 0)
	u.run("chat", "one").want(t, 0)
	const id = session.ID("main.terminal.local.default")
	admin := u.admin()
	alien := publish(t, admin, subject.OfEvent(id, "message.received", ""), nats.Header{"x": {"y"}}, "no event\x1b[31m")
	d.stderr.waitFor(t, "doorbell quarantined")
	publish(t, admin, subject.OfEvent(id, "message.received", ""), foreign(id, alien, "message.received.v9"), `{"later":"words"}`)
	d.stderr.waitFor(t, "cannot decode")

	all := u.letters(2)
	for i, kind := range []string{"not an event", "message.received.v9"} {
		if l := all[i]; l.Session != id || l.Service != "turns" || l.Kind != "message.received" || l.Cursor == 0 || !strings.Contains(l.Reason, kind) {
			t.Errorf("%+v", l)
		}
	}
	u.doctor(1).says(t, "dead letters", health.Warning, "2 doorbells were given up", "jetclaw dead list") // and of what rang them
	if r := u.run("dead", "list"); r.code != 0 || !strings.Contains(r.stdout, string(id)) || strings.Contains(r.stdout, "\x1b") {
		t.Errorf("%d %q", r.code, r.stdout)
	}
	r := u.run("dead", "show", "1")
	r.want(t, 0)
	for _, want := range []string{"not an event", "6e 6f 20 65 76", "x: y", "retry     nothing: turns wants nothing of " + string(id)} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	if r := u.run("dead", "show", "2"); !strings.Contains(r.stdout, `{"later":"words"}`) {
		t.Errorf("%s", r.stdout)
	}
	var opened openedLetter
	if err := json.Unmarshal([]byte(u.run("dead", "show", "1", "--json").stdout), &opened); err != nil || opened.Raw == nil || string(opened.Raw.Data) != "no event\x1b[31m" {
		t.Errorf("%+v, %v", opened, err)
	}
	u.run("dead", "show", "7").want(t, 1, "there is no dead letter 7; there are 1, 2")
	for _, wrong := range [][]string{{"show", "x"}, {"show"}, {"retry"}, {"retry", "1", "--all"}, {"drop", "0"}, {"drop", "--all"}, {"lst"}} {
		u.run(append([]string{"dead"}, wrong...)...).want(t, 2)
	}

	if r := u.run("dead", "retry", "1"); r.code != 0 || !strings.Contains(r.stdout, "it has looked") {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if r := u.run("dead", "retry", "--all"); r.code != 0 || !strings.Contains(r.stdout, "no daemon runs: it looks when one is started") {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	u.letters(0)
	u.run("chat", "two").want(t, 0)
}

func TestDeadDrop(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n")
	d := u.start()
	for range 3 {
		publish(t, u.admin(), subject.OfEvent("main.http.default.x", "message.received", ""), nats.Header{"x": {"y"}}, "no event")
	}
	d.stderr.waitCount(t, "doorbell quarantined", 3)
	u.letters(3)
	u.run("dead", "drop", "2").want(t, 0)
	u.run("dead", "drop", "2").want(t, 1, "there is no dead letter 2; there are 1, 3")
	if left := u.letters(2); left[0].Number != 1 || left[1].Number != 3 {
		t.Errorf("%+v", left)
	}
	if r := u.run("dead", "drop", "--all", "--yes", "--json"); r.code != 0 || strings.Count(r.stdout, `"dropped"`) != 2 {
		t.Errorf("exit %d: %s", r.code, r.stdout)
	}
	u.letters(0)
}
