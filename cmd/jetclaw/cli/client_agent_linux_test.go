package cli

import (
	"strings"
	"testing"
)

// outsider is a session of an agent that is a program outside.
const outsider = "claude.mcp.default.t1"

// TestACallOfAProgramOutlivesTheDaemon: once while a person is asked, and once while the command runs, which is then not run again.
func TestACallOfAProgramOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "agents: {claude: {client: true, tools: {allow: [exec]}}}\n")
	rung := h.bell()
	d := h.start()
	refused := func() { // its turn comes after those before it
		t.Helper()
		r := h.run("chat", "--session", outsider, "!tool now {}")
		if r.want(t, 0); !strings.Contains(r.stdout, `there is no tool "now" here`) {
			t.Errorf("stdout %q", r.stdout)
		}
	}
	refused()
	h.run("chat", "--session", outsider, "!tool "+execLine(work+"; echo >bell; sleep 53.2345; "+work)).want(t, 3)
	d.kill()
	d = h.start()
	open := h.list()
	if len(open) != 1 || string(open[0].Session) != outsider || !strings.Contains(open[0].Shown, work) {
		t.Fatalf("%+v", open)
	}
	h.wantRuns(0)
	h.run("approvals", "approve", open[0].Approval).want(t, 0)
	rung()
	d.kill()
	waitGone(t, "53.2345")
	d = h.start()
	refused()
	answers := 0
	for _, e := range h.journal("--session", outsider) {
		data, _ := e.Data.(map[string]any)
		text, _ := data["text"].(string)
		if e.Type == "turn.completed.v1" && strings.Contains(text, "outcome unknown, the call may have been carried out") {
			answers++
		}
	}
	if answers != 1 {
		t.Errorf("it is told %d times", answers)
	}
	h.wantRuns(1)
	if h.model.asked() != "" {
		t.Error("a model is asked")
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, d.stderr)
	}
}
