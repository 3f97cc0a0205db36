package approvals

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const talk session.ID = "main.telegram.bot.1"

// notice is what a submission was told.
func notice(events []envelope.Event, submission string) (string, bool) {
	for _, e := range events {
		switch b := e.Body.(type) {
		case noticev1.Posted:
			if slices.Contains(b.Answers, submission) {
				return b.Text, true
			}
		case approvalv1.Decided:
			if slices.Contains(b.Answers, submission) {
				return b.Text, true
			}
		}
	}
	return "", false
}

func (h *house) told(t *testing.T, submission string) string {
	t.Helper()
	var text string
	h.until(t, func(e []envelope.Event) (ok bool) { text, ok = notice(e, submission); return ok })
	return text
}

func (h *house) event(t *testing.T, kind, id string) envelope.Event {
	t.Helper()
	var ev envelope.Event
	h.until(t, func(e []envelope.Event) (ok bool) { ev, ok = find(e, kind, id); return ok })
	return ev
}

func TestChat(t *testing.T) {
	h := newHouse(t)
	h.run(t, Config{})
	id := h.park(t, talk, "c1")
	h.submit(t, talk, "s1", "telegram:2", id, callv1.AllowOnce)
	if text := h.told(t, "s1"); !strings.Contains(text, "not yours") {
		t.Errorf("a stranger is told %q", text)
	}
	h.submit(t, talk, "s2", anna, "", callv1.AllowOnce)
	ev := h.event(t, "approval.decided", id)
	b := ev.Body.(approvalv1.Decided)
	if b.Answer.By != anna || b.Answer.Decision != callv1.AllowOnce || !slices.Equal(b.Answers, []string{"s2"}) {
		t.Errorf("decided: %+v", b)
	}
	h.submit(t, talk, "s3", anna, id, callv1.Deny)
	if text := h.told(t, "s3"); !strings.Contains(text, "allowed once by telegram:1") {
		t.Errorf("who is late is told %q", text)
	}
	h.submit(t, talk, "s4", anna, id, callv1.AllowOnce)
	if text := h.told(t, "s4"); !strings.Contains(text, "as you say") {
		t.Errorf("who says the same is told %q", text)
	}
}

// TestSignature: what is decided verifies for its request alone, and a forged decision does not.
func TestSignature(t *testing.T) {
	h := newHouse(t)
	h.run(t, Config{})
	id := h.park(t, talk, "c1")
	if _, err := h.decide(t.Context(), DecideRequest{Approval: id, Decision: callv1.AllowOnce}); err != nil {
		t.Fatal(err)
	}
	answer := h.event(t, "approval.decided", id).Body.(approvalv1.Decided).Answer
	r := mail("m/t", "c1", "p1", `{"to":"<x>"}`).Request
	public := testKey.Public().(ed25519.PublicKey)
	if !answer.Verify(public, talk, r) {
		t.Error("it does not verify")
	}
	other := r
	other.Call = "c2"
	if answer.Verify(public, talk, other) || answer.Verify(public, "main.telegram.bot.2", r) {
		t.Error("it verifies for something else")
	}
	forger := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	if answer.Signed(forger, talk, r).Verify(public, talk, r) {
		t.Error("a forged one verifies")
	}
	answer.By = "telegram:3"
	if answer.Verify(public, talk, r) {
		t.Error("it verifies for another person")
	}
}

func TestEndpoints(t *testing.T) {
	h := newHouse(t)
	h.run(t, Config{})
	id := h.park(t, talk, "c1")
	v := h.get(t, strings.ToUpper(id))
	if v.Status != Open || v.Session != talk || v.Tool != "send" || v.Shown != "send\n"+`{"to":"<x>"}` || !v.Always || len(v.Why) != 1 {
		t.Errorf("get: %+v", v)
	}
	if l := h.list(t, ListRequest{}); len(l.Approvals) != 1 || l.Approvals[0].Approval != id {
		t.Errorf("list: %+v", l)
	}
	if l := h.list(t, ListRequest{Session: "main.telegram.bot.2", All: true}); len(l.Approvals) != 0 {
		t.Errorf("list of another session: %+v", l)
	}
	tests := []struct {
		name string
		r    DecideRequest
		want fault.Kind
		text string
	}{
		{"unknown", DecideRequest{Approval: "abbbbbbbbbb", Decision: callv1.Deny}, fault.NotFound, "abbbbbbbbbb"},
		{"of another session", DecideRequest{Approval: id, Session: "main.telegram.bot.2", Decision: callv1.Deny}, fault.NotFound, id},
		{"no session", DecideRequest{Approval: id, Session: "x", Decision: callv1.Deny}, fault.Invalid, "session"},
		{"no decision", DecideRequest{Approval: id, Decision: "maybe"}, fault.Invalid, "allow-once"},
		{"no object", DecideRequest{Approval: id, Decision: callv1.AllowOnce, Arguments: json.RawMessage(`7`)}, fault.Invalid, "object"},
		{"yes", DecideRequest{Approval: id, Decision: callv1.AllowOnce}, "", "allowed once by local"},
		{"yes, again", DecideRequest{Approval: id, Decision: callv1.AllowOnce}, "", "as you say"},
		{"no", DecideRequest{Approval: id, Decision: callv1.Deny}, fault.Conflict, "allowed once by local at"},
	}
	for _, tt := range tests {
		got, err := h.decide(t.Context(), tt.r)
		if fault.KindOf(err) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if text := got.Text; err == nil && (!strings.Contains(text, tt.text) || got.Session != talk || got.Status != "allowed") {
			t.Errorf("%s: %+v", tt.name, got)
		}
		if err != nil && !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if v := h.get(t, id); v.Status != "allowed" || v.By != local {
		t.Errorf("get: %+v", v)
	}
	if l := h.list(t, ListRequest{}); len(l.Approvals) != 0 {
		t.Errorf("list: %+v", l)
	}
	for _, r := range []ListRequest{{All: true}, {All: true, Session: string(talk)}} {
		if l := h.list(t, r); len(l.Approvals) != 1 || l.Approvals[0].Status != "allowed" {
			t.Errorf("list: %+v", l)
		}
	}
}

func TestLocalIsNoApprover(t *testing.T) {
	h := newHouse(t)
	h.run(t, Config{Approvers: []string{anna}})
	id := h.park(t, talk, "c1")
	_, err := h.decide(t.Context(), DecideRequest{Approval: id, Decision: callv1.AllowOnce})
	if fault.KindOf(err) != fault.Denied || strings.Contains(err.Error(), "send") {
		t.Errorf("local decides: %v", err)
	}
}

func TestEdit(t *testing.T) {
	h := newHouse(t)
	h.run(t, Config{})
	id := h.park(t, talk, "c1")
	edit := DecideRequest{Approval: id, Decision: callv1.AllowOnce, Arguments: json.RawMessage(`{ "to": "y" }`)}
	h.rule("p1", "never to y")
	if _, err := h.decide(t.Context(), edit); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "never to y") {
		t.Errorf("what the gate denies: %v", err)
	}
	if v := h.get(t, id); v.Status != Open {
		t.Errorf("then it is %s", v.Status)
	}
	h.rule("p1", "")
	if got, err := h.decide(t.Context(), edit); err != nil || !strings.Contains(got.Text, `│ {"to":"y"}`) {
		t.Fatalf("%+v %v", got, err)
	}
	b := h.event(t, "approval.decided", id).Body.(approvalv1.Decided)
	public := testKey.Public().(ed25519.PublicKey)
	if b.Edited == nil || string(b.Edited.Arguments) != `{"to":"y"}` || !b.Answer.Verify(public, talk, *b.Edited) {
		t.Errorf("bound to %+v", b)
	}
	if b.Answer.Verify(public, talk, mail("m/t", "c1", "p1", `{"to":"<x>"}`).Request) {
		t.Error("what was asked first is allowed, too")
	}
	if got, err := h.decide(t.Context(), edit); err != nil || !got.Already {
		t.Errorf("the same again: %+v %v", got, err)
	}
	edit.Arguments = nil
	if _, err := h.decide(t.Context(), edit); fault.KindOf(err) != fault.Conflict {
		t.Errorf("without the edit: %v", err)
	}
}

// TestGateAway: without the gate nothing is allowed, and no is still no; when it is back the answer counts.
func TestGateAway(t *testing.T) {
	h := newHouse(t)
	h.run(t, Config{})
	one, two := h.park(t, talk, "c1"), h.park(t, talk, "c2")
	h.rule("", "")
	if _, err := h.decide(t.Context(), DecideRequest{Approval: one, Decision: callv1.AllowOnce}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("allowed on doubt: %v", err)
	}
	h.submit(t, talk, "s1", anna, one, callv1.AllowOnce)
	h.submit(t, talk, "s2", anna, two, callv1.Deny)
	h.event(t, "approval.decided", two)
	if v := h.get(t, one); v.Status != Open {
		t.Errorf("meanwhile it is %s", v.Status)
	}
	h.rule("p1", "")
	h.event(t, "approval.decided", one)
}

func TestVoid(t *testing.T) {
	h := newHouse(t)
	h.run(t, Config{SweepEvery: time.Hour})
	chat, endpoint := h.park(t, talk, "c1"), h.park(t, talk, "c2")
	h.rule("p2", "")
	h.submit(t, talk, "s1", anna, chat, callv1.AllowOnce)
	if text := h.told(t, "s1"); !strings.Contains(text, "void") || !strings.Contains(text, "the policy") {
		t.Errorf("told %q", text)
	}
	h.event(t, "approval.voided", chat)
	_, err := h.decide(t.Context(), DecideRequest{Approval: endpoint, Decision: callv1.AllowOnce})
	if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "the policy") {
		t.Errorf("%v", err)
	}
	h.event(t, "approval.voided", endpoint)
}

// TestSweep: a changed policy voids what is parked, in its own time; also what was parked before a start.
func TestSweep(t *testing.T) {
	h := newHouse(t)
	stop := h.run(t, Config{SweepEvery: 20 * time.Millisecond})
	one := h.park(t, talk, "c1")
	h.rule("", "")
	h.rule("p2", "")
	b := h.event(t, "approval.voided", one).Body.(approvalv1.Voided)
	if !strings.Contains(b.Text, "policy") {
		t.Error(b.Text)
	}
	h.rule("p1", "")
	two := h.park(t, "main.http.web.x", "c1")
	stop()
	h.rule("p2", "")
	h.run(t, Config{SweepEvery: time.Hour})
	h.event(t, "approval.voided", two)
}

func TestEndsOfTurnAndSession(t *testing.T) {
	h := newHouse(t)
	h.run(t, Config{})
	one := h.park(t, talk, "c1")
	post(t, h.chat, talk, "x", turnv1.Cancelled{Turn: "m/t", Answers: []string{"m"}})
	h.event(t, "approval.cancelled", one)
	two := h.park(t, "main.http.web.x", "c1")
	post(t, h.chat, "main.http.web.x", "y", turnv1.SessionDeleted{By: "cli"})
	if _, err := h.decide(t.Context(), DecideRequest{Approval: two, Decision: callv1.AllowOnce}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("of a deleted session: %v", err)
	}
	three := h.park(t, "main.http.web.z", "c1")
	post(t, h.tools, "main.http.web.z", "d", callv1.Denied{Turn: "m/t", Call: "c1", Reason: "so"})
	if _, err := h.decide(t.Context(), DecideRequest{Approval: three, Decision: callv1.AllowOnce}); fault.KindOf(err) != fault.Conflict {
		t.Errorf("of a denied call: %v", err)
	}
	if l := h.list(t, ListRequest{}); len(l.Approvals) != 0 {
		t.Errorf("open: %+v", l)
	}
}

// TestRestart: a question survives the service, with its expiry, and rings the one that lives then.
func TestRestart(t *testing.T) {
	h := newHouse(t)
	const ttl = 5 * time.Second
	stop := h.run(t, Config{TTL: ttl})
	id := h.park(t, talk, "c1")
	before := h.get(t, id)
	stop()
	h.run(t, Config{TTL: time.Hour})
	if v := h.get(t, id); v.Status != Open || !v.Expires.Equal(before.Expires) {
		t.Errorf("after the restart: %+v", v)
	}
	if l := h.list(t, ListRequest{}); len(l.Approvals) != 1 {
		t.Errorf("list: %+v", l)
	}
	ev := h.event(t, "approval.expired", id)
	if ev.Time.Before(before.Expires) || ev.Time.Sub(before.Expires) > 10*time.Second {
		t.Errorf("expired at %s, not %s", ev.Time, before.Expires)
	}
	if _, err := h.decide(t.Context(), DecideRequest{Approval: id, Decision: callv1.AllowOnce}); fault.KindOf(err) != fault.Conflict {
		t.Errorf("after expiry: %v", err)
	}
}

// TestStartStop: it can be stopped at any moment of its life, and leaves nothing behind.
func TestStartStop(t *testing.T) {
	h := newHouse(t)
	stop := h.run(t, Config{})
	h.park(t, talk, "c1")
	stop()
	conn, log := h.bus.Connect(t, "approvals"), slog.New(slog.DiscardHandler)
	for i := range 12 {
		s, err := New(Config{Conn: conn, Key: testKey, SweepEvery: time.Millisecond, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*i)*time.Millisecond)
		if err := s.Run(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("run %d: %v", i, err)
		}
		cancel()
	}
	h.run(t, Config{})
	if v := h.get(t, h.park(t, talk, "c2")); v.Status != Open {
		t.Errorf("afterwards: %+v", v)
	}
}

func TestNew(t *testing.T) {
	h := newHouse(t)
	conn, log := h.bus.Connect(t, "approvals"), slog.New(slog.DiscardHandler)
	good := Config{Conn: conn, Key: testKey, Log: log}
	for name, change := range map[string]func(*Config){
		"no connection": func(c *Config) { c.Conn = nil }, "no key": func(c *Config) { c.Key = nil },
		"short key": func(c *Config) { c.Key = c.Key[:9] }, "no logger": func(c *Config) { c.Log = nil },
		"a name": func(c *Config) { c.Approvers = []string{"telegram:@anna"} }, "negative TTL": func(c *Config) { c.TTL = -1 },
	} {
		c := good
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}
