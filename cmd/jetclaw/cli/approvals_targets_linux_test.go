package cli

import (
	"slices"
	"testing"
)

// TestApprovalTargets has the server, the gate, the executor, the approvals and the doors in processes of their own, and
// kills executors at work.
func TestApprovalTargets(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "")
	h.model.found = make(chan struct{})
	rung := h.bell()
	all := []*daemon{h.start("--target", "nats")}
	for _, target := range []string{"builtin", "tools", "approvals", "turns,intake,outbox"} {
		all = append(all, h.start("--target", target))
	}
	executor := all[1]

	// It parks, is approved and runs once, as in one process.
	message := h.say(execLine(work))
	h.run("approvals", "approve", h.parked(message)).want(t, 0)
	h.reply(message).want(t, "completed", "exit code 0")
	h.wantRuns(1)

	// What only reads is read again by the next executor.
	message = h.say(`web_search {"query":"a page"}`)
	h.model.searches(t)
	second := h.start("--target", "builtin")
	executor.kill()
	h.model.searches(t)
	close(h.model.found)
	h.reply(message).want(t, "completed", "https://example.org/")

	// Of a command nobody knows how far it came.
	message = h.say(execLine(work + "; echo >bell; sleep 52.3456; " + work))
	h.run("approvals", "approve", h.parked(message)).want(t, 0)
	rung()
	third := h.start("--target", "builtin")
	second.kill()
	waitGone(t, "52.3456")
	h.reply(message).want(t, "completed", "outcome unknown, the call may have been carried out")
	h.wantRuns(2)
	h.wantEvents(map[string]int{"call.dispatched.v1": 3, "call.started.v1": 4, "call.completed.v1": 3, "turn.completed.v1": 3, "turn.failed.v1": 0})

	all[1] = third
	for _, d := range slices.Backward(all) {
		if code := d.stop(); code != 0 {
			t.Errorf("exit %d\n%s", code, d.stderr)
		}
	}
}
