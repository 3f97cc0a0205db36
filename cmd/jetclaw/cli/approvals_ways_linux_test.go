package cli

import (
	"net/http"
	"strings"
	"testing"
)

// decided is the answer of POST /v1/approvals/{id}.
type decided struct {
	Status string `json:"status"`
	Text   string `json:"text"`
	Error  string `json:"error"`
	Kind   string `json:"kind"`
}

// TestWaysToAnswer has one home, in which only who can read its keys may decide.
func TestWaysToAnswer(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "owners: [local]\n")
	d := h.start()

	// The token of the HTTP API is no approver: neither its texts nor its requests decide, and both are told so.
	message := h.say(execLine(work))
	id := h.parked(message)
	for _, text := range []string{"/approve " + id, "/approve", "/approve " + id + " always", "/deny " + id, "/deny"} {
		h.reply(h.say(text)).want(t, "completed", "not yours to decide")
	}
	for _, decision := range []string{"allow-once", "allow-always", "deny"} {
		var got decided
		code := h.api("POST", "/v1/approvals/"+id, `{"decision":"`+decision+`"}`, &got)
		if code != http.StatusForbidden || got.Kind != "denied" || !strings.Contains(got.Error, "not yours to decide") {
			t.Errorf("%s: HTTP %d %+v", decision, code, got)
		}
	}
	h.wantRuns(0)
	if got := h.list(); len(got) != 1 || got[0].Approval != id {
		t.Fatalf("what nobody could decide is not open: %+v", got)
	}

	// A text of an approver's in the same session does.
	r := h.run("chat", "--session", theSession, "/approve "+id)
	if r.want(t, 0); !strings.Contains(r.stdout+r.stderr, "was allowed once by local") {
		t.Errorf("%+v", r)
	}
	h.reply(message).want(t, "completed", "exit code 0")
	h.wantRuns(1)

	// So does a refusal, with words that the model is told; without an id when only one is open.
	message = h.say(execLine(work))
	id = h.parked(message)
	r = h.run("chat", "--session", theSession, "/deny "+id+" that is enough")
	if r.want(t, 0); !strings.Contains(r.stdout+r.stderr, "was denied by local. Reason: that is enough") {
		t.Errorf("%+v", r)
	}
	h.reply(message).want(t, "completed", "denied: the person said no: that is enough")
	message = h.say(execLine(work))
	id = h.parked(message)
	h.run("chat", "--session", theSession, "/deny").want(t, 0)
	h.reply(message).want(t, "completed", "denied: the person said no")
	var late decided
	if code := h.api("POST", "/v1/approvals/"+id, `{"decision":"allow-once"}`, &late); code != http.StatusForbidden {
		t.Errorf("HTTP %d %+v", code, late)
	}
	h.wantRuns(1)

	// "Always" is for no command.
	message = h.say(execLine(work))
	id = h.parked(message)
	h.run("approvals", "approve", id, "--always").want(t, 1, "cannot be given for always")
	h.run("chat", "--session", theSession, "/stop").want(t, 0)
	h.reply(message).want(t, "cancelled")
	h.run("approvals", "approve", id).want(t, 1)
	h.wantRuns(1)
	h.wantEvents(map[string]int{"call.started.v1": 1, "approval.decided.v1": 3, "approval.cancelled.v1": 1})
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, d.stderr)
	}
}

// TestWaysOfAnHTTPToken: among the owners it decides as anybody.
func TestWaysOfAnHTTPToken(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "owners: [local, \"http:default\"]\n")
	d := h.start()
	message := h.say(execLine(work))
	id := h.parked(message)
	var got decided
	if code := h.api("POST", "/v1/approvals/"+id, `{"decision":"allow-always"}`, &got); code != http.StatusBadRequest {
		t.Errorf("always: HTTP %d %+v", code, got)
	}
	for range 2 { // the same again is fine
		got = decided{}
		code := h.api("POST", "/v1/approvals/"+id, `{"decision":"allow-once"}`, &got)
		if code != http.StatusOK || got.Status != "decided" || !strings.Contains(got.Text, "allowed once") {
			t.Errorf("HTTP %d %+v", code, got)
		}
	}
	if code := h.api("POST", "/v1/approvals/"+id, `{"decision":"deny"}`, &got); code != http.StatusConflict {
		t.Errorf("otherwise: HTTP %d %+v", code, got)
	}
	h.run("approvals", "deny", id).want(t, 1, "http:default")
	h.reply(message).want(t, "completed", "exit code 0")
	h.wantRuns(1)

	message = h.say(execLine(work))
	id = h.parked(message)
	h.reply(h.say("/deny "+id+" rather not")).want(t, "completed", "was denied by http:default. Reason: rather not")
	h.reply(message).want(t, "completed", "denied: the person said no: rather not")
	message = h.say(execLine(work))
	h.parked(message)
	h.reply(h.say("/approve")).want(t, "completed", "was allowed once by http:default")
	h.reply(message).want(t, "completed", "exit code 0")
	h.wantRuns(2)
	if code := h.api("POST", "/v1/approvals/aaaaaaaaaaa", `{"decision":"deny"}`, &got); code != http.StatusNotFound {
		t.Errorf("HTTP %d %+v", code, got)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, d.stderr)
	}
}
