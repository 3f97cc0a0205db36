package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
)

// examined is what `doctor --json` prints.
type examined struct {
	OK       bool            `json:"ok"`
	Findings []healthFinding `json:"findings"`
}

type healthFinding struct {
	ID       string          `json:"id"`
	Severity health.Severity `json:"severity"`
	Check    string          `json:"check"`
	Text     string          `json:"text"`
	Evidence json.RawMessage `json:"evidence"`
	Fix      string          `json:"fix"`
}

func (u *user) doctor(code int, flags ...string) examined {
	u.t.Helper()
	r := u.run(append([]string{"doctor", "--json"}, flags...)...)
	r.want(u.t, code)
	var x examined
	if err := json.Unmarshal([]byte(r.stdout), &x); err != nil {
		u.t.Fatalf("%s: %v", r.stdout, err)
	}
	if x.OK != (code == 0) {
		u.t.Errorf("%+v", x)
	}
	return x
}

// says fails the test unless there is a finding with all of some words.
func (x examined) says(t *testing.T, check string, l health.Severity, words ...string) {
	t.Helper()
	for _, f := range x.Findings {
		all := f.Severity == l && strings.HasPrefix(f.Check, check)
		for _, w := range words {
			all = all && strings.Contains(f.Text+" "+f.Fix, w)
		}
		if all {
			return
		}
	}
	t.Errorf("nothing says %s %s %q: %+v", check, l, words, x.Findings)
}

func TestDoctorOfAnEmptyHome(t *testing.T) {
	t.Parallel()
	u := newUser(t, "")
	x := u.doctor(0)
	x.says(t, "configuration", health.Fine)
	x.says(t, "journal", health.Fine, "on disk")
	x.says(t, "deliveries", health.Fine, "7 days")
	for _, f := range x.Findings {
		if f.ID == "" || f.Severity != health.Fine || f.Check == "" {
			t.Errorf("%+v", f)
		}
	}
	u.doctor(0, "--deep", "--repair")
	u.write("jetclaw.yaml", "bus: {sync: never}\n")
	u.doctor(1).says(t, "configuration", health.Problem, "jetclaw.yaml:1:13", "bus.sync")
	if r := u.run("doctor"); r.code != 1 || !strings.Contains(r.stdout, "PROBLEM  configuration: ") {
		t.Errorf("%d %s", r.code, r.stdout)
	}
}

// TestDoctorOfBots: what people and Telegram refuse is seen, with what to do.
func TestDoctorOfBots(t *testing.T) {
	t.Parallel()
	h := newChatHouse(t, ", access: open, streaming: off", "")
	h.doctor(0).says(t, "telegram", health.Warning, "no daemon serves them")
	d := h.start()
	h.telegram.AddChat("", private(eve))
	h.telegram.Say("", private(eve), eve, "hello")
	h.answered(eve.ID, "you said: hello")
	h.telegram.Say("", private(eve), eve, "and goodbye")
	h.telegram.Refuse(eve.ID, faketelegram.Blocked)
	h.telegram.Inject(json.RawMessage(`{"message":{"message_id":1,"date":"never","chat":{"id":1,"type":"private"}}}`))
	h.events("delivery.failed.v1", "message.quarantined.v1")
	x := h.doctor(0)
	x.says(t, "telegram mybot (@", health.Fine, "takes updates since")
	x.says(t, "deliveries", health.Warning, "main.telegram.mybot.666", "blocked")
	x.says(t, "channels", health.Warning, "1 update could not be read", "message.date")
	h.telegram.Revoke("")
	d.stderr.waitFor(t, "token is refused")
	h.doctor(1).says(t, "telegram mybot", health.Problem, "the token is refused", "@BotFather")
	d.stop()
	h.tokenless(d)
}

// events waits until the journal has events of these types.
func (h *chatHouse) events(types ...string) {
	h.t.Helper()
	c := h.command("events", "--follow", "--json")
	out := newWatched()
	c.Stdout = out
	if err := c.Start(); err != nil {
		h.t.Fatal(err)
	}
	for _, name := range types {
		out.waitFor(h.t, `"type":"`+name+`"`)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
}
