package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

const patience = 30 * time.Second

// house is a bus with the service, and with those around it that the test speaks for.
type house struct {
	t         *testing.T
	srv       *bustest.Server
	turns     *bus.Conn
	approvals *bus.Conn
	executor  *bus.Conn
	events    chan envelope.Event // that the service has appended
}

var schema = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}},"additionalProperties":false}`)

func catalogue() toolv1.Catalogue {
	entry := func(name string, l toolv1.Level) toolv1.Tool {
		return toolv1.Tool{Name: name, Description: name, Schema: schema, Level: l, Timeout: time.Second}
	}
	fetch := entry("fetch", toolv1.L0)
	fetch.Egress, fetch.Untrusted = toolv1.Chosen, true
	return toolv1.Catalogue{Executor: "builtin", Tools: []toolv1.Tool{entry("look", toolv1.L0), entry("send", toolv1.L2), fetch}}
}

func newHouse(t *testing.T, c Config) *house {
	t.Helper()
	h := &house{t: t, events: make(chan envelope.Event, 100)}
	h.srv = bustest.New(t, Spec(),
		bus.Spec{Name: "turns", Appends: []string{"turn.stepped", "turn.cancelled", "session.reset"}},
		bus.Spec{Name: "approvals", Appends: []string{"approval.decided", "approval.expired"}, Asks: []string{"tools.judge", "tools.version", "tools.explain"}},
		bus.Spec{Name: "builtin", Appends: []string{"call.completed.builtin"}, Catalog: "builtin"})
	h.turns, h.approvals, h.executor = h.srv.Connect(t, "turns"), h.srv.Connect(t, "approvals"), h.srv.Connect(t, "builtin")
	c.Conn, c.Log = h.srv.Connect(t, "tools"), slog.New(slog.NewTextHandler(t.Output(), nil))
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- s.Run(ctx) }()
	go func() {
		err := h.srv.Admin().Follow(ctx, bus.ReplayOptions{}, func(e envelope.Event) error {
			if strings.HasPrefix(e.Source, "tools/") {
				h.events <- e
			}
			return nil
		})
		if ctx.Err() != nil { // perhaps before it had begun
			err = nil
		}
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("it ended with %v", err)
			}
		}
	})
	if err := s.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return h
}

// publish makes the catalogue known.
func (h *house) publish(c toolv1.Catalogue) {
	h.t.Helper()
	raw, err := json.Marshal(c)
	if err == nil {
		err = h.executor.SetCatalog(h.t.Context(), c.Executor, raw)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// post appends an event of somebody else.
func (h *house) post(c *bus.Conn, s session.ID, b envelope.Body) {
	h.t.Helper()
	for {
		last, err := c.Journal().Last(h.t.Context(), s)
		if err == nil {
			_, err = c.Journal().Append(h.t.Context(), envelope.Event{Session: s, Prev: last, Body: b})
		}
		if fault.KindOf(err) == fault.Conflict {
			continue
		}
		if err != nil {
			h.t.Fatal(err)
		}
		return
	}
}

func (h *house) step(s session.ID, turn string, calls ...turnv1.Call) {
	h.post(h.turns, s, turnv1.Stepped{Outcome: turnv1.Outcome{Turn: turn}, Calls: calls})
}

func asked(id, tool, args string) turnv1.Call {
	return turnv1.Call{ID: id, Tool: tool, Arguments: json.RawMessage(args)}
}

// next is the next event that the service appends.
func (h *house) next() envelope.Body {
	h.t.Helper()
	select {
	case e := <-h.events:
		return e.Body
	case <-time.After(patience):
		h.t.Fatal("nothing is decided")
	}
	return nil
}

func decided[B envelope.Body](h *house) B {
	h.t.Helper()
	got := h.next()
	b, ok := got.(B)
	if !ok {
		h.t.Fatalf("got %T %+v", got, got)
	}
	return b
}

func TestDecisions(t *testing.T) {
	h := newHouse(t, Config{Policy: Policy{Deny: []Rule{{Tool: "look", Args: map[string]string{"path": "secret*"}, Reason: "not that one"}}}})
	const s = session.ID("main.http.test.one")
	h.publish(catalogue())
	h.step(s, "m1/t", asked("c1", "look", `{"path":"a"}`), asked("c2", "look", `{"path":"secrets"}`), asked("c3", "look", `{"n":"x","z":1}`),
		asked("c4", "lok", `{}`), asked("c5", "send", `{ "n" : 1 }`), turnv1.Call{ID: "c6", Tool: "look", Arguments: json.RawMessage(`{}`), Refusal: "no"})
	if b := decided[callv1.Dispatched](h); b.Call != "c1" || b.Executor != "builtin" || b.Rule != "level L0" || b.Approval != nil || b.Policy == "" {
		t.Errorf("%+v", b)
	}
	if b := decided[callv1.Denied](h); b.Call != "c2" || !strings.Contains(b.Reason, "not that one") || b.Rule != "policy.deny[0]" {
		t.Errorf("%+v", b)
	}
	if b := decided[callv1.Denied](h); b.Call != "c3" || b.Rule != "arguments" || !strings.Contains(b.Reason, "n") || !strings.Contains(b.Reason, "z") {
		t.Errorf("%+v", b)
	}
	if b := decided[callv1.Denied](h); b.Call != "c4" || !strings.Contains(b.Reason, "look") {
		t.Errorf("%+v", b)
	}
	parked := decided[callv1.Awaiting](h)
	if parked.Call != "c5" || string(parked.Arguments) != `{"n":1}` || parked.Index != 4 || parked.Shown == "" || len(parked.Why) == 0 || parked.Grant == "" {
		t.Errorf("%+v", parked)
	}
	// What approvals does before it signs.
	judgement, err := bus.Ask[Judged](t.Context(), h.approvals, "tools", "judge", JudgeRequest{
		Session: string(s), Turn: "m1/t", Call: "c5", Index: 4, Tool: "send", Arguments: parked.Arguments,
	})
	if err != nil || judgement.Effect != call.Ask || fmt.Sprint(judgement.Request) != fmt.Sprint(parked.Request) {
		t.Errorf("%+v %v", judgement, err)
	}
	version, err := bus.Ask[Version](t.Context(), h.approvals, "tools", "version", VersionRequest{Agent: "main"})
	if err != nil || version.Policy == "" || callv1.PolicyChange(version.Policy, parked.Policy) != "" {
		t.Errorf("%+v %v, parked by %s", version, err, parked.Policy)
	}
	ref := approvalv1.Ref{Approval: "a1", Turn: "m1/t", Call: "c5"}
	h.post(h.approvals, s, approvalv1.Decided{Ref: ref, Answer: callv1.Approval{ID: "a1", Decision: callv1.AllowAlways, Grant: parked.Grant, By: "local"}})
	if b := decided[callv1.Dispatched](h); b.Call != "c5" || b.Approval == nil || b.Approval.ID != "a1" {
		t.Errorf("%+v", b)
	}
	h.step(s, "m2/t", asked("c1", "send", `{"n":1}`), asked("c2", "send", `{"n":2}`))
	if b := decided[callv1.Dispatched](h); b.Call != "c1" || b.Always == nil || b.Always.ID != "a1" {
		t.Errorf("%+v", b)
	}
	if b := decided[callv1.Awaiting](h); b.Call != "c2" {
		t.Errorf("%+v", b)
	}
	h.post(h.approvals, s, approvalv1.Expired{Ref: approvalv1.Ref{Approval: "a2", Turn: "m2/t", Call: "c2"}})
	if b := decided[callv1.Denied](h); b.Call != "c2" || b.Approval != "a2" || !strings.Contains(b.Reason, "in time") {
		t.Errorf("%+v", b)
	}
}

// TestTaint: what was read decides what may leave, until a new beginning; also what a call has read whose turn is over.
func TestTaint(t *testing.T) {
	h := newHouse(t, Config{})
	const s = session.ID("main.http.test.two")
	h.publish(catalogue())
	fetch := func(turn string) envelope.Body {
		t.Helper()
		h.step(s, turn, asked("c1", "fetch", `{}`))
		return h.next()
	}
	if b, ok := fetch("m1/t").(callv1.Dispatched); !ok {
		t.Fatalf("%+v", b)
	}
	h.post(h.executor, s, callv1.Completed{Executor: "builtin", Turn: "m1/t", Call: "c1", Outcome: callv1.Error, Untrusted: true})
	if b, ok := fetch("m2/t").(callv1.Dispatched); !ok {
		t.Fatalf("one taint alone asks: %+v", b)
	}
	h.post(h.turns, s, turnv1.Cancelled{Turn: "m2/t", By: "x"})
	h.post(h.executor, s, callv1.Completed{Executor: "builtin", Turn: "m2/t", Call: "c1", Outcome: callv1.Cancelled, Private: true})
	if b, ok := fetch("m3/t").(callv1.Awaiting); !ok || b.Rule != "trifecta" || b.Grant != "" {
		t.Fatalf("%+v", b)
	}
	h.post(h.turns, s, turnv1.SessionReset{By: "x"})
	if b, ok := fetch("m4/t").(callv1.Dispatched); !ok {
		t.Fatalf("a new beginning still asks: %+v", b)
	}
}

// TestNothingIsDecidedBlindly: a call that comes before any executor has said what it offers is denied; one whose executor
// starts meanwhile is found.
func TestAnExecutorThatStartsLater(t *testing.T) {
	h := newHouse(t, Config{})
	const s = session.ID("main.http.test.three")
	h.step(s, "m1/t", asked("c1", "look", `{}`))
	if b := decided[callv1.Denied](h); b.Rule != "unknown tool" {
		t.Errorf("%+v", b)
	}
	h.publish(catalogue())
	h.step(s, "m2/t", asked("c1", "look", `{}`))
	if b := decided[callv1.Dispatched](h); b.Call != "c1" {
		t.Errorf("%+v", b)
	}
}

func TestExplain(t *testing.T) {
	h := newHouse(t, Config{})
	h.publish(catalogue())
	ask := func(r ExplainRequest) (Explained, error) {
		return bus.Ask[Explained](t.Context(), h.approvals, "tools", "explain", r)
	}
	got, err := ask(ExplainRequest{})
	if err != nil || len(got.Tools) != 1 || len(got.Tools[0].Tools) != 3 {
		t.Fatalf("%+v %v", got, err)
	}
	cases := []Case{
		{Session: "main.http.test.none", Tool: "look", Arguments: json.RawMessage(`{}`)},
		{Session: "main.http.test.none", Tool: "fetch", Arguments: json.RawMessage(`{}`), Taint: &call.Taint{Untrusted: true, Private: true}},
	}
	got, err = ask(ExplainRequest{Calls: cases})
	if err != nil || len(got.Answers) != 2 || got.Answers[0].Effect != call.Run || got.Answers[1].Rule != "trifecta" || len(got.Answers[0].Considered) == 0 {
		t.Fatalf("%+v %v", got, err)
	}
	got, err = ask(ExplainRequest{Calls: cases[:1], Policy: &Policy{Deny: []Rule{{Tool: "*"}}}})
	if err != nil || got.Answers[0].Effect != call.Deny {
		t.Fatalf("%+v %v", got, err)
	}
	for name, r := range map[string]ExplainRequest{
		"session": {Calls: []Case{{Session: "x", Tool: "look"}}},
		"policy":  {Calls: cases, Policy: &Policy{Deny: []Rule{{}}}},
	} {
		if _, err := ask(r); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ask(ExplainRequest{Calls: make([]Case, maxCases+1)}); fault.KindOf(err) != fault.TooLarge {
		t.Errorf("too many: %v", err)
	}
}

// TestToolsOfAnAgent: those that it may use at all.
func TestToolsOfAnAgent(t *testing.T) {
	h := newHouse(t, Config{
		Agents: map[string]Agent{"claude": {Client: true, Allow: []string{"l*"}}, "codex": {Client: true}, "poet": {Deny: []string{"look"}}},
		Policy: Policy{Deny: []Rule{{Tool: "fetch", Agent: "poet"}}},
	})
	h.publish(catalogue())
	for _, c := range []struct {
		r     ExplainRequest
		tools string
		fails fault.Kind
	}{
		{ExplainRequest{Agent: "claude", Client: true}, "look", ""},
		{ExplainRequest{Agent: "claude"}, "look", ""},
		{ExplainRequest{Agent: "codex", Client: true}, "", ""},
		{ExplainRequest{Agent: "poet"}, "send", ""},
		{ExplainRequest{Agent: "stranger"}, "look send fetch", ""},
		{ExplainRequest{Agent: "poet", Client: true}, "", fault.NotFound},
		{ExplainRequest{Agent: "stranger", Client: true}, "", fault.NotFound},
		{ExplainRequest{Client: true}, "", fault.NotFound},
	} {
		got, err := bus.Ask[Explained](t.Context(), h.approvals, "tools", "explain", c.r)
		var names []string
		for _, c := range got.Tools {
			for _, tool := range c.Tools {
				names = append(names, tool.Name)
			}
		}
		if fault.KindOf(err) != c.fails && err != nil || c.fails != "" && err == nil || strings.Join(names, " ") != c.tools {
			t.Errorf("%+v: %q, %v", c.r, names, err)
		}
		if err != nil && !strings.Contains(err.Error(), "add agents."+c.r.Agent+": {client: true, tools: {allow: [...]}} to jetclaw.yaml") {
			t.Errorf("%v", err)
		}
	}
}

// TestPages: whatever executors offer, all of it can be listed.
func TestPages(t *testing.T) {
	sized := func(name string, n int) toolv1.Catalogue {
		return toolv1.Catalogue{Executor: name, Tools: []toolv1.Tool{{Name: name, Description: strings.Repeat("x", n)}}}
	}
	all := []toolv1.Catalogue{sized("a", 10), sized("b", bus.MaxCatalog/2), sized("c", bus.MaxCatalog/2), sized("d", bus.MaxCatalog), sized("e", 1)}
	var got []string
	for after, more := "", true; more; {
		var some []toolv1.Catalogue
		some, more = page(all, after)
		names := ""
		for _, c := range some {
			after = c.Executor
			names += c.Executor
		}
		got = append(got, names)
	}
	if want := "ab c d e"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
	if some, more := page(nil, ""); some != nil || more {
		t.Errorf("%v %t", some, more)
	}
}

func TestPermissions(t *testing.T) { bustest.CheckPermissions(t, []bus.Spec{Spec()}) }
