package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/services/turns"
)

// TestRerun: a turn of the offline model is played again with another one, which gets the recorded result; no tool runs, and
// the journal stays as it is.
func TestRerun(t *testing.T) {
	t.Parallel()
	model, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	u := newUser(t, "models: {default: offline/echo, providers: {fake: {base_url: \""+model.URL()+"\"}}}\nchannels: {http: {listen: off}}\n")
	u.run("chat", `!tool list_dir {"path": "."}`).want(t, 0)
	before := u.lines("default")
	r := u.run("rerun", "default", "--turn", "last", "--model", "fake/one", "--dry")
	r.want(t, 0)
	for _, want := range []string{
		"turn ", " of main.terminal.local.default\n\n", "model       offline/echo", "fake/one\n", "rounds      2 ", "tool calls  1 ",
		"end         completed ", "\n--- message\n!tool list_dir", "\n--- then: calls list_dir (round 1)\n", "\n--- now: calls list_dir (round 1)\n",
		"\n--- now: completed\nYou said: !tool list_dir",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	if r.stderr != "" {
		t.Errorf("%s", r.stderr)
	}
	daemon := u.start()
	r = u.run("rerun", "default", "--turn", "1", "--model", "fake/one", "--dry", "--json")
	r.want(t, 0)
	var got turns.Rerun
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || got.Unmatched != 0 || got.Now.Calls[0].Result != got.Then.Calls[0].Result || got.Now.Usage.Input == 0 {
		t.Errorf("%v: %s", err, r.stdout)
	}
	if code := daemon.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if r := u.run("rerun", "default", "--turn", "1", "--model", "fake/gone", "--dry"); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if now := u.lines("default"); now != before {
		t.Errorf("the session was\n%s\nand is\n%s", before, now)
	}
}
