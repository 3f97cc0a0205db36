package intake

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
)

const chatSession = session.ID("main.telegram.bot.12345") // of nobody who comes by HTTP

// approvalOf is an open one that the token "app" may decide, and the home's owner.
func approvalOf(id string, s session.ID, change ...func(*wire.Approval)) wire.Approval {
	a := wire.Approval{
		ID: id, Session: s, Status: wire.ApprovalOpen, Turn: "t", Call: "c", Tool: "write_file", Level: 2, Shown: "write_file\npath: notes.md",
		Why: []string{"It changes a file."}, Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Approvers: []string{"local", "http:app"},
	}
	for _, c := range change {
		c(&a)
	}
	return a
}

// judged is an answer to a decision.
type judged struct {
	Approval  string `json:"approval"`
	Status    string `json:"status"`
	Text      string `json:"text"`
	MessageID string `json:"message_id"`
	Error     string `json:"error"`
	Kind      string `json:"kind"`
}

type decisionBody struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason,omitempty"`
	Key      string `json:"idempotency_key,omitempty"`
}

func (r *running) decide(token, id string, body any) (judged, int) {
	r.t.Helper()
	var j judged
	got := r.call(http.MethodPost, "/v1/approvals/"+id, token, body, &j)
	return j, got.status
}

// begin gives a session a first event.
func begin(t *testing.T, s *running, id session.ID) {
	t.Helper()
	_, err := s.Submit(t.Context(), Request{Session: string(id), From: messagev1.Sender{ID: "telegram:1"}, Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
}

// TestApprovalsThatATokenMayKnow: nothing is told of those of others, not even that they exist.
func TestApprovalsThatATokenMayKnow(t *testing.T) {
	srv := newBus(t)
	d := newDocket(t, srv)
	s := start(t, srv)
	only := func(who ...string) func(*wire.Approval) { return func(a *wire.Approval) { a.Approvers = who } }
	d.knows(approvalOf("aaaaaaaaaaa", appSession, only("local")))
	d.knows(approvalOf("aaaaaaaaaab", "main.http.app.two"))
	d.knows(approvalOf("aaaaaaaaaac", "main.http.other.x", only("local")))
	d.knows(approvalOf("aaaaaaaaaad", chatSession)) // the app may decide it
	d.knows(approvalOf("aaaaaaaaaae", chatSession, only("local", "telegram:12345", "app", "http:app2", "HTTP:APP")))
	d.knows(approvalOf("aaaaaaaaaaf", appSession, func(a *wire.Approval) { a.Status = wire.ApprovalExpired }))
	d.knows(approvalOf("aaaaaaaaaag", "main.http.app.x.y", only("local"))) // no session id
	lists := func(token, query string) (ids []string) {
		var all wire.Approvals
		if got := s.call(http.MethodGet, "/v1/approvals"+query, token, nil, &all); got.status != http.StatusOK || all.Approvals == nil {
			t.Errorf("list %s: %d %+v", query, got.status, all)
		}
		for _, a := range all.Approvals {
			ids = append(ids, a.ID)
		}
		slices.Sort(ids)
		return ids
	}
	for _, tc := range []struct {
		token, query string
		want         []string
	}{
		{appToken, "", []string{"aaaaaaaaaaa", "aaaaaaaaaab"}},
		{appToken, "?session=two", []string{"aaaaaaaaaab"}},
		{appToken, "?session=never", nil},
		{otherToken, "", []string{"aaaaaaaaaac"}},
	} {
		if got := lists(tc.token, tc.query); !slices.Equal(got, tc.want) {
			t.Errorf("list %s of %.8s: %v, want %v", tc.query, tc.token, got, tc.want)
		}
	}
	d.mu.Lock()
	d.more = 7
	d.mu.Unlock()
	var cut map[string]any
	if s.call(http.MethodGet, "/v1/approvals", appToken, nil, &cut); cut["cut"] != true || len(cut) != 2 {
		t.Errorf("a list that is cut: %v", cut)
	}
	var told []string
	for _, tc := range []struct {
		token, id string
		status    int
	}{
		{appToken, "aaaaaaaaaaa", 200},
		{appToken, "AAAAAAAAAAA", 200},
		{appToken, "aaaaaaaaaad", 200},
		{appToken, "aaaaaaaaaaf", 200},
		{appToken, "aaaaaaaaaac", 404},
		{appToken, "aaaaaaaaaae", 404},
		{appToken, "aaaaaaaaaag", 404},
		{appToken, "aaaaaaaaaaz", 404}, // not there
		{appToken, "nonsense", 404},
		{appToken, "aaaaaaaaaa.", 404},
		{otherToken, "aaaaaaaaaaa", 404},
		{otherToken, "aaaaaaaaaad", 404},
		{otherToken, "aaaaaaaaaac", 200},
		{"", "aaaaaaaaaaa", 401},
	} {
		var a struct {
			wire.Approval
			Error string `json:"error"`
			Kind  string `json:"kind"`
		}
		got := s.call(http.MethodGet, "/v1/approvals/"+tc.id, tc.token, nil, &a)
		if got.status != tc.status || (tc.status == 200) != (a.Shown != "") || tc.status == 200 && !strings.EqualFold(a.ID, tc.id) {
			t.Errorf("%s: %d %+v, want %d", tc.id, got.status, a, tc.status)
		}
		if tc.status == 404 {
			told = append(told, strings.ReplaceAll(a.Error, tc.id, "ID")+a.Kind)
			if j, status := s.decide(tc.token, tc.id, decisionBody{Decision: "deny"}); status != 404 || j.Error != a.Error {
				t.Errorf("decide %s: %d %+v", tc.id, status, j)
			}
		}
	}
	if told = slices.Compact(told); len(told) != 1 {
		t.Errorf("what is not there and what is not shown can be told apart: %q", told)
	}
	var a answer
	if got := s.call(http.MethodGet, "/v1/approvals?session=main.http.other.x", appToken, nil, &a); got.status != http.StatusForbidden {
		t.Errorf("another's session: %d %+v", got.status, a)
	}
	if got := history(t, srv, chatSession); len(got) != 0 {
		t.Errorf("journal of the chat: %v", got)
	}
}

func TestDecideOverHTTP(t *testing.T) {
	srv := newBus(t)
	d := newDocket(t, srv)
	d.reacts(judge)
	s := start(t, srv)
	begin(t, s, appSession)
	begin(t, s, chatSession)
	in := func(st wire.ApprovalStatus, dec callv1.Decision) func(*wire.Approval) {
		return func(a *wire.Approval) { a.Status, a.Decision = st, dec }
	}
	fixed := func(a *wire.Approval) { a.Fixed = "write_file with path = notes.md" }
	notMine := func(a *wire.Approval) { a.Approvers = []string{"local"} }
	for i, tc := range []struct {
		name    string
		session session.ID
		change  func(*wire.Approval)
		body    decisionBody
		status  int
		kind    string
		text    string
		event   string // "": nothing is appended
	}{
		{"allow", appSession, fixed, decisionBody{Decision: "allow-once"}, 200, "", "It is allowed.", "allow-once "},
		{"allow in a chat", chatSession, fixed, decisionBody{Decision: "allow-once"}, 200, "", "It is allowed.", "allow-once "},
		{"always", appSession, fixed, decisionBody{Decision: "allow-always"}, 200, "", "It is allowed.", "allow-always "},
		{"deny", appSession, fixed, decisionBody{Decision: "deny"}, 200, "", "It is denied.", "deny "},
		{"deny with a reason", chatSession, fixed, decisionBody{Decision: "deny", Reason: "always before noon"}, 200, "", "It is denied.", "deny always before noon"},
		{"not always", appSession, func(*wire.Approval) {}, decisionBody{Decision: "allow-always"}, 400, "invalid", "once only", "allow-always "},
		{"not an approver", appSession, notMine, decisionBody{Decision: "allow-once"}, 403, "denied", "may not decide", "allow-once "},
		{"the same again", chatSession, in("allowed", "allow-once"), decisionBody{Decision: "allow-once"}, 200, "", "already", "allow-once "},
		{"otherwise", chatSession, in("denied", "deny"), decisionBody{Decision: "allow-once"}, 409, "conflict", "already", "allow-once "},
		{"once, when it is always", chatSession, in("allowed", "allow-always"), decisionBody{Decision: "allow-once"}, 409, "conflict", "already", "allow-once "},
		{"expired", appSession, in("expired", ""), decisionBody{Decision: "allow-once"}, 410, "conflict", "over", "allow-once "},
		{"cancelled", appSession, in("cancelled", ""), decisionBody{Decision: "deny"}, 410, "conflict", "over", "deny "},
		{"voided", appSession, in("voided", ""), decisionBody{Decision: "allow-once"}, 410, "conflict", "over", "allow-once "},
		{"no decision", appSession, fixed, decisionBody{}, 400, "invalid", "want allow-once", ""},
		{"another decision", appSession, fixed, decisionBody{Decision: "yes"}, 400, "invalid", "want allow-once", ""},
		{"a reason to allow", appSession, fixed, decisionBody{Decision: "allow-once", Reason: "but"}, 400, "invalid", "deny only", ""},
		{"a long reason", appSession, fixed, decisionBody{Decision: "deny", Reason: strings.Repeat("x", 501)}, 400, "invalid", "too long", "refused"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id := fmt.Sprintf("abcdefghi2%c", 'a'+i)
			d.knows(approvalOf(id, tc.session, tc.change))
			before := len(history(t, srv, tc.session))
			j, status := s.decide(appToken, id, tc.body)
			if status != tc.status || j.Kind != tc.kind || !strings.Contains(j.Text+j.Error, tc.text) {
				t.Fatalf("%d %+v, want %d %s %q", status, j, tc.status, tc.kind, tc.text)
			}
			if status == http.StatusOK && (j.Status != "decided" || j.Approval != id) {
				t.Errorf("%+v", j)
			}
			got := ""
			for _, e := range eventsOf(t, srv, tc.session)[before:] {
				switch b := e.Body.(type) {
				case messagev1.Decision:
					got = string(b.Decision) + " " + b.Reason
					if b.Approval != id || b.From != (messagev1.Sender{ID: "http:app"}) {
						t.Errorf("journal: %+v", b)
					}
				case messagev1.Refused:
					got = "refused"
				}
			}
			if got != tc.event {
				t.Errorf("journal: %q, want %q", got, tc.event)
			}
		})
	}
}

// TestDecisionTwice: the same key is the same decision, whatever it says, and another's key is another.
func TestDecisionTwice(t *testing.T) {
	srv := newBus(t)
	d := newDocket(t, srv)
	d.reacts(judge)
	s := start(t, srv)
	begin(t, s, chatSession)
	const id = "abcdefghij2"
	d.knows(approvalOf(id, chatSession, func(a *wire.Approval) { a.Approvers = []string{"http:app", "http:other"} }))
	// Somebody's message with the same key: a repeat of that would be answered with what became of it.
	m, err := s.Submit(t.Context(), Request{Session: string(chatSession), From: messagev1.Sender{ID: "telegram:1"}, Text: "secret", Key: "k1"})
	if err != nil {
		t.Fatal(err)
	}
	appendAs(t, srv.Connect(t, "turns"), chatSession, turnv1.Completed{Answers: []string{m.MessageID}, Text: "a secret"})
	first, status := s.decide(appToken, id, decisionBody{"allow-once", "", "k1"})
	if status != http.StatusOK || first.Text != "It is allowed." {
		t.Fatalf("%d %+v", status, first)
	}
	events := len(history(t, srv, chatSession))
	if again, status := s.decide(appToken, id, decisionBody{"allow-once", "", "k1"}); status != http.StatusOK || again != first {
		t.Errorf("again: %d %+v", status, again)
	}
	if again, status := s.decide(appToken, id, decisionBody{"deny", "", "k1"}); status != http.StatusConflict {
		t.Errorf("the same key, another decision: %d %+v", status, again)
	}
	if n := len(history(t, srv, chatSession)); n != events {
		t.Errorf("%d events more", n-events)
	}
	if other, status := s.decide(otherToken, id, decisionBody{"deny", "", "k1"}); status != http.StatusConflict || !strings.Contains(other.Error, "already") {
		t.Errorf("another's key: %d %+v", status, other)
	}
}

// TestDecisionWithoutAnOutcome: the journal has it, and the answer says so in time.
func TestDecisionWithoutAnOutcome(t *testing.T) {
	srv := newBus(t)
	d := newDocket(t, srv) // does not react
	s := startWith(t, srv, func(c *Config) { c.HTTP.DecisionWait = 50 * time.Millisecond }, func(*Service) {})
	begin(t, s, appSession)
	begin(t, s, chatSession)
	d.knows(approvalOf("abcdefghij2", appSession))
	d.knows(approvalOf("abcdefghij3", chatSession))
	j, status := s.decide(appToken, "abcdefghij2", decisionBody{Decision: "deny"})
	if status != http.StatusAccepted || j.Status != "pending" || j.MessageID == "" {
		t.Fatalf("%d %+v", status, j)
	}
	if r := s.reply(j.MessageID, ""); r.Status != "pending" {
		t.Errorf("%+v", r)
	}
	appendAs(t, d.conn, appSession, approvalv1.Decided{
		Ref: approvalv1.Ref{Approval: "abcdefghij2"}, Answer: callv1.Approval{Decision: callv1.Deny}, Text: "Denied.",
		Answers: []string{eventID(t, j.MessageID)},
	})
	var r struct{ Status, Text, Decision string }
	if got := s.call(http.MethodGet, "/v1/messages/"+j.MessageID+"/reply?wait=10s", appToken, nil, &r); got.status != 200 || r.Decision != "deny" || r.Text != "Denied." {
		t.Errorf("%d %+v", got.status, r)
	}
	if j, status := s.decide(appToken, "abcdefghij3", decisionBody{Decision: "deny"}); status != http.StatusAccepted || j.MessageID != "" {
		t.Errorf("in another's session: %d %+v", status, j)
	}
}

func TestApprovalsThatNobodyServes(t *testing.T) {
	srv := newBus(t)
	s := start(t, srv)
	for _, path := range []string{"/v1/approvals", "/v1/approvals/abcdefghij2"} {
		var a answer
		if got := s.call(http.MethodGet, path, appToken, nil, &a); got.status != http.StatusServiceUnavailable || a.Kind != "unavailable" {
			t.Errorf("%s: %d %+v", path, got.status, a)
		}
	}
	if j, status := s.decide(appToken, "abcdefghij2", decisionBody{Decision: "allow-once"}); status != http.StatusServiceUnavailable {
		t.Errorf("%d %+v", status, j)
	}
	for _, body := range []string{`{"decision":"deny","decision":"allow-once"}`, `{"decision":"deny","x":1}`, `[]`, ``} {
		if j, status := s.decide(appToken, "abcdefghij2", []byte(body)); status != http.StatusBadRequest {
			t.Errorf("%s: %d %+v", body, status, j)
		}
	}
}
