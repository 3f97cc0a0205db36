package intake

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
)

// docket stands in for the approvals service: it knows what a test tells it, and answers each decision as the test says.
type docket struct {
	t    *testing.T
	conn *bus.Conn

	mu    sync.Mutex
	known map[string]wire.Approval // guarded by mu
	more  int                      // guarded by mu; a list leaves out so many
	// react is guarded by mu; the outcome of a decision, and where the approval stands then. nil: it does not answer.
	react func(messagev1.Decision, wire.Approval) (text string, now wire.Approval)
}

func newDocket(t *testing.T, srv *bustest.Server) *docket {
	t.Helper()
	d := &docket{t: t, conn: srv.Connect(t, "approvals"), known: map[string]wire.Approval{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	for verb, h := range map[string]bus.Handler{"get": d.get, "list": d.list} {
		if err := d.conn.Serve(ctx, verb, h); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.conn.Watch(ctx, []string{"decision.submitted"}, d.decided); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *docket) knows(a wire.Approval) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known[a.ID] = a
}

func (d *docket) reacts(fn func(messagev1.Decision, wire.Approval) (string, wire.Approval)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.react = fn
}

func (d *docket) get(_ context.Context, data []byte) (any, error) {
	var r struct {
		Approval string `json:"approval"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	a, ok := d.known[r.Approval]
	if !ok {
		return nil, fault.New(fault.NotFound, "no approval %s here", r.Approval)
	}
	return a, nil
}

func (d *docket) list(_ context.Context, data []byte) (any, error) {
	var r struct {
		Session session.ID `json:"session"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	list := wire.Approvals{More: d.more}
	for _, a := range d.known {
		if a.Status == wire.ApprovalOpen && (r.Session == "" || r.Session == a.Session) {
			list.Approvals = append(list.Approvals, a)
		}
	}
	return list, nil
}

// decided answers a decision: by approval.decided when it counts, else by a notice.
func (d *docket) decided(e envelope.Event) {
	b, ok := e.Body.(messagev1.Decision)
	if !ok {
		return
	}
	d.mu.Lock()
	before := d.known[b.Approval]
	react := d.react
	if react == nil {
		d.mu.Unlock()
		return
	}
	text, now := react(b, before)
	d.known[b.Approval] = now
	d.mu.Unlock()
	var body envelope.Body = noticev1.Posted{Service: "approvals", Text: text, Answers: []string{e.ID}}
	if before.Status == wire.ApprovalOpen && now.Decision == b.Decision {
		body = approvalv1.Decided{
			Ref:    approvalv1.Ref{Approval: b.Approval, Turn: now.Turn, Call: now.Call},
			Answer: callv1.Approval{ID: b.Approval, Decision: b.Decision, By: b.From.ID, Expires: time.Now().Add(time.Hour), At: time.Now()},
			Reason: b.Reason, Answers: []string{e.ID}, Text: text,
		}
	}
	if _, err := d.conn.Journal().AppendFact(d.t.Context(), envelope.Event{Session: e.Session, Body: body}, e.Cursor); err != nil {
		d.t.Error(err)
	}
}

// judge is how the approvals service decides, as far as the tests here need it.
func judge(b messagev1.Decision, a wire.Approval) (string, wire.Approval) {
	can := false
	for _, who := range a.Approvers {
		can = can || who == b.From.ID
	}
	switch {
	case !can:
		return "You may not decide this.", a
	case a.Status != wire.ApprovalOpen && a.Decision == b.Decision:
		return "That is what was decided already.", a
	case a.Status == wire.ApprovalAllowed, a.Status == wire.ApprovalDenied:
		return "It was decided already, by somebody.", a
	case a.Status != wire.ApprovalOpen:
		return "It is over.", a
	case b.Decision == callv1.AllowAlways && a.Fixed == "":
		return "This one can be allowed once only.", a
	}
	a.Status, a.Decision = wire.ApprovalAllowed, b.Decision
	if b.Decision == callv1.Deny {
		a.Status = wire.ApprovalDenied
	}
	return "It is " + string(a.Status) + ".", a
}
