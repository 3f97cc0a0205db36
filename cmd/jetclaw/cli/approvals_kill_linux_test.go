package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestApprovalOutlivesTheDaemon kills the daemon twice while a question is open, and answers then.
func TestApprovalOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer []string
		says   string // the command that decides
		told   string // the model
		runs   int
		events map[string]int
	}{
		"approved": {
			[]string{"approve"},
			"was allowed once by local", "exit code 0", 1,
			map[string]int{"call.dispatched.v1": 1, "call.started.v1": 1, "call.completed.v1": 1, "call.denied.v1": 0},
		},
		"denied": {
			[]string{"deny", "--reason", "not today"},
			"was denied by local. Reason: not today", "denied: the person said no: not today", 0,
			map[string]int{"call.dispatched.v1": 0, "call.started.v1": 0, "call.denied.v1": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, "approvals: {expire: 3h}\n")
			d := h.start()
			message := h.say(execLine(work))
			id := h.parked(message)
			before := h.list()
			if len(before) != 1 || before[0].Approval != id || !strings.Contains(before[0].Shown, work) || before[0].Tool != "exec" {
				t.Fatalf("%s: the list has %+v", id, before)
			}
			if left := time.Until(before[0].Expires); left > 3*time.Hour || left < 3*time.Hour-time.Minute {
				t.Errorf("it expires in %s", left)
			}
			for range 2 {
				d.kill()
				d = h.start()
				if got := h.list(); len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(before[0]) {
					t.Fatalf("before %+v, then %+v", before, got)
				}
			}
			h.wantRuns(0)
			r := h.run(append([]string{"approvals", c.answer[0], id}, c.answer[1:]...)...)
			r.want(t, 0)
			if !strings.Contains(r.stdout, c.says) {
				t.Errorf("stdout %q", r.stdout)
			}
			h.reply(message).want(t, "completed", c.told)
			h.wantRuns(c.runs)
			h.run("approvals", c.answer[0], id).want(t, 0) // the same again is fine, and changes nothing
			other := map[string]string{"approve": "deny", "deny": "approve"}[c.answer[0]]
			h.run("approvals", other, id).want(t, 1, "by local")
			h.wantRuns(c.runs)
			if got := h.list(); len(got) != 0 {
				t.Errorf("still open: %+v", got)
			}
			c.events["approval.requested.v1"], c.events["approval.decided.v1"] = 1, 1
			h.wantEvents(c.events)
			if code := d.stop(); code != 0 {
				t.Errorf("exit %d\n%s", code, d.stderr)
			}
		})
	}
}

// TestApprovalUnderAnotherPolicy: what was asked is void once the rules are others, whatever they say of it.
func TestApprovalUnderAnotherPolicy(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]string{
		"forbidden": "policy: {deny: [{tool: exec, reason: no more of it}]}\n",
		"unrelated": "policy: {ask: [{tool: now}]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, "")
			d := h.start()
			message := h.say(execLine(work))
			id := h.parked(message)
			d.kill()
			h.write("jetclaw.yaml", h.config(policy))
			h.start()
			h.reply(message).want(t, "completed", "told: denied: the question to the person is void")
			all := h.list("--all")
			if len(all) != 1 || all[0].Status != "voided" || !strings.Contains(all[0].Text, "the policy (the rules) has changed") {
				t.Errorf("%+v", all)
			}
			h.run("approvals", "approve", id).want(t, 1, "is void", "the policy (the rules) has changed")
			h.run("approvals", "deny", id).want(t, 1, "is void")
			told := false
			for _, e := range h.journal("--session", theSession) {
				data, _ := e.Data.(map[string]any)
				text, _ := data["text"].(string)
				told = told || e.Type == "approval.voided.v1" && strings.Contains(text, "Approval "+id+" for exec is void")
			}
			if !told {
				t.Error("the person is not told")
			}
			h.wantRuns(0)
			h.wantEvents(map[string]int{"approval.voided.v1": 1, "approval.decided.v1": 0, "call.dispatched.v1": 0, "call.started.v1": 0, "call.denied.v1": 1})
		})
	}
}

// TestKilledWhileACommandRuns: it ran, and how far nobody knows. It does not run again, and is not left running.
func TestKilledWhileACommandRuns(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "")
	rung := h.bell()
	d := h.start()
	message := h.say(execLine(work + "; echo >bell; sleep 51.2345; " + work))
	id := h.parked(message)
	h.run("approvals", "approve", id).want(t, 0)
	rung()
	if len(processes(t, "51.2345")) == 0 {
		t.Error("the command is not found")
	}
	d.kill()
	waitGone(t, "51.2345")
	d = h.start()
	h.reply(message).want(t, "completed", "told:", "outcome unknown, the call may have been carried out")
	h.wantRuns(1)
	h.run("approvals", "approve", id).want(t, 0)
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, d.stderr)
	}
	h.wantRuns(1)
	h.wantEvents(map[string]int{"call.dispatched.v1": 1, "call.started.v1": 1, "call.completed.v1": 1, "turn.completed.v1": 1})
}

// processes are those that have a text in their command line.
func processes(t *testing.T, text string) (pids []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(text)) { // else it has ended
			pids = append(pids, path)
		}
	}
	return pids
}

// waitGone waits until there is no such process.
func waitGone(t *testing.T, text string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for left := processes(t, text); len(left) > 0; left = processes(t, text) {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%q is left", left)
		}
	}
}
