package mcp

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// parlour is a house with a server whose tools ask people something. The test speaks for the approvals service, too.
type parlour struct {
	*house
	approvals *bus.Conn
	web       *httptest.Server
	leave     chan struct{} // closed when the tool "leave" may end
	heard     chan string   // what it was answered
}

const (
	nameForm = `{"type":"object","required":["name"],"properties":{"name":{"type":"string","default":"Ada"}}}`
	bareForm = `{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"age":{"type":"integer","default":7}}}`
	oddForm  = `{"type":"object","properties":{"name":{"type":"string","pattern":"(?=a)b"}}}`
)

// newParlour starts the service with the server "shop", which is reached by transport.
func newParlour(t *testing.T, transport string, change func(*definition.Definition)) *parlour {
	t.Helper()
	p := &parlour{leave: make(chan struct{}), heard: make(chan string, 1), house: &house{
		t: t, home: t.TempDir(), servers: map[string]definition.Definition{}, news: make(chan struct{}, 1), change: make(chan struct{}, 1),
	}}
	p.srv = bustest.New(t, Spec(),
		bus.Spec{Name: "tools", Appends: []string{"call.dispatched.*", "turn.cancelled"}, ReadsCatalog: true},
		bus.Spec{Name: "approvals", Appends: []string{"approval.decided", "approval.expired", "approval.voided"}})
	p.gate, p.approvals = p.srv.Connect(t, "tools"), p.srv.Connect(t, "approvals")
	p.read()
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	p.tool(server, "ask", nameForm)
	p.tool(server, "need", bareForm)
	p.tool(server, "odd", oddForm)
	server.AddTool(&mcp.Tool{Name: "leave", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			go func() {
				got, err := r.Session.Elicit(t.Context(), &mcp.ElicitParams{Mode: "form", Message: "still there?", RequestedSchema: json.RawMessage(nameForm)})
				if err != nil {
					p.heard <- err.Error()
					return
				}
				p.heard <- got.Action
			}()
			<-p.leave
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "left"}}}, nil
		})
	of := func(*http.Request) *mcp.Server { return server }
	var handler http.Handler = mcp.NewStreamableHTTPHandler(of, &mcp.StreamableHTTPOptions{Stateless: true})
	if transport == definition.SSE {
		handler = mcp.NewSSEHandler(of, nil)
	}
	p.web = httptest.NewServer(handler)
	t.Cleanup(p.web.Close)
	d := definition.Definition{
		URL: p.web.URL, Transport: transport, Approval: definition.Approve, Elicitation: true, SupportsParallelToolCalls: true,
	}
	if change != nil {
		change(&d)
	}
	p.configure(map[string]definition.Definition{"shop": d})
	p.start()
	return p
}

// read collects the events of the journal.
func (p *parlour) read() {
	ctx, cancel := context.WithCancel(p.t.Context())
	ended := make(chan error, 1)
	go func() {
		err := p.srv.Admin().Follow(ctx, bus.ReplayOptions{}, func(e envelope.Event) error {
			p.mu.Lock()
			p.events = append(p.events, e)
			p.mu.Unlock()
			select {
			case p.news <- struct{}{}:
			default:
			}
			return nil
		})
		if ctx.Err() != nil { // a reader that is told to end
			err = nil
		}
		ended <- err
	}()
	p.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			p.t.Error(err)
		}
	})
}

// tool asks its question and says what it was answered, in both eras of the protocol.
func (p *parlour) tool(server *mcp.Server, name, form string) {
	q := &mcp.ElicitParams{Mode: "form", Message: "Who?\x1b[2J\nSay " + canary, RequestedSchema: json.RawMessage(form)}
	server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			got, ok := r.Params.InputResponses["q"].(*mcp.ElicitResult)
			if !ok {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": q}}, nil
			}
			content, err := json.Marshal(got.Content)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: got.Action + " " + string(content)}}}, err
		})
}

// question waits for what a call asks.
func (p *parlour) question(call string) (callv1.Asked, approvalv1.Ref) {
	p.t.Helper()
	ev := p.wait(call+" asks", func(ev envelope.Event) bool {
		b, ok := ev.Body.(callv1.Asked)
		return ok && b.Call == call
	})[0]
	b := ev.Body.(callv1.Asked)
	return b, approvalv1.Ref{Approval: approvalv1.ID(ev.Session, ev.ID), Turn: b.Turn, Call: b.Call}
}

// settle appends an end of the approval.
func (p *parlour) settle(id session.ID, b envelope.Body) {
	p.t.Helper()
	if _, err := p.approvals.Journal().AppendFact(p.t.Context(), envelope.Event{Session: id, Body: b}, 0); err != nil {
		p.t.Fatal(err)
	}
}

// signed is a decision of a person.
func signed(key ed25519.PrivateKey, id session.ID, q callv1.Asked, ref approvalv1.Ref, d callv1.Decision, edit string) approvalv1.Decided {
	b, sent, shown := approvalv1.Decided{Ref: ref}, q.Request, q.Shown
	if edit != "" {
		sent.Arguments, sent.Digest, shown = json.RawMessage(edit), canonical.Digest([]byte(edit)), "other"
		b.Edited = &sent
	}
	now := time.Now()
	b.Answer = callv1.Approval{
		ID: ref.Approval, Decision: d, By: "local", Shown: canonical.Digest([]byte(shown)), At: now, Expires: now.Add(time.Hour),
	}.Signed(key, id, sent)
	return b
}

// TestQuestions: what a person answers reaches the server, what nobody has answered, or has not signed, does not.
func TestQuestions(t *testing.T) {
	_, key := keys()
	_, stranger, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, transport := range []string{definition.StreamableHTTP, definition.SSE} {
		p := newParlour(t, transport, nil)
		for _, c := range []struct {
			name, tool string
			end        func(callv1.Asked, approvalv1.Ref) envelope.Body
			want       string
		}{
			{"as shown", "ask", func(q callv1.Asked, r approvalv1.Ref) envelope.Body {
				return signed(key, somebody, q, r, callv1.AllowOnce, "")
			}, `accept {"name":"Ada"}`},
			{"other values", "need", func(q callv1.Asked, r approvalv1.Ref) envelope.Body {
				return signed(key, somebody, q, r, callv1.AllowOnce, `{"age":8,"name":"Bo <3"}`)
			}, `accept {"age":8,"name":"Bo \u003c3"}`},
			{"no", "ask", func(q callv1.Asked, r approvalv1.Ref) envelope.Body {
				return signed(key, somebody, q, r, callv1.Deny, "")
			}, "decline null"},
			{"nobody", "ask", func(_ callv1.Asked, r approvalv1.Ref) envelope.Body { return approvalv1.Expired{Ref: r} }, "cancel null"},
			{"void", "ask", func(_ callv1.Asked, r approvalv1.Ref) envelope.Body { return approvalv1.Voided{Ref: r} }, "cancel null"},
			{"signed by another", "ask", func(q callv1.Asked, r approvalv1.Ref) envelope.Body {
				return signed(stranger, somebody, q, r, callv1.AllowOnce, "")
			}, "cancel null"},
			{"signed for other values", "ask", func(q callv1.Asked, r approvalv1.Ref) envelope.Body {
				b := signed(key, somebody, q, r, callv1.AllowOnce, "")
				b.Edited = &q.Request
				b.Edited.Arguments = json.RawMessage(`{"name":"Eve"}`)
				b.Edited.Digest = canonical.Digest(b.Edited.Arguments)
				return b
			}, "cancel null"},
			{"signed for the call itself", "ask", func(q callv1.Asked, r approvalv1.Ref) envelope.Body {
				q.ToolDigest = p.offered("shop", "ask").Digest()
				return signed(key, somebody, q, r, callv1.AllowOnce, "")
			}, "cancel null"},
			{"signed in another session", "ask", func(q callv1.Asked, r approvalv1.Ref) envelope.Body {
				return signed(key, another, q, r, callv1.AllowOnce, "")
			}, "cancel null"},
			{"shown otherwise", "ask", func(q callv1.Asked, r approvalv1.Ref) envelope.Body {
				q.Shown = "nothing"
				return signed(key, somebody, q, r, callv1.AllowOnce, "")
			}, "cancel null"},
			{"what does not fit", "need", func(q callv1.Asked, r approvalv1.Ref) envelope.Body {
				return signed(key, somebody, q, r, callv1.AllowOnce, "")
			}, "cancel null"},
		} {
			t.Run(transport+" "+c.name, func(t *testing.T) {
				d := p.dispatched("shop", c.tool, `{}`)
				p.post(somebody, d)
				q, ref := p.question(d.Call)
				checkQuestion(t, d, q)
				p.settle(somebody, c.end(q, ref))
				if got := p.end(d.Call); got.Outcome != callv1.OK || got.Content != c.want {
					t.Errorf("%s: %s, want %s", got.Outcome, got.Content, c.want)
				}
			})
		}
		if got := p.status("shop"); got.Failures != 0 {
			t.Errorf("%s: what people say counts as a failure of the server: %+v", transport, got)
		}
	}
}

// checkQuestion: it is about the call, bounded, and no decision about it allows a call.
func checkQuestion(t *testing.T, d callv1.Dispatched, q callv1.Asked) {
	t.Helper()
	if q.Tool != d.Tool || q.Executor != d.Executor || q.Turn != d.Turn || q.Attempt != 1 || q.Policy != d.Policy || q.ToolDigest == d.ToolDigest ||
		q.Digest != q.Sum() || q.Question != d.Turn+"/"+d.Call+"/1/1" {
		t.Errorf("asks %+v", q)
	}
	if left := time.Until(q.Expires); left < 9*time.Minute || left > 10*time.Minute {
		t.Errorf("it is open for %s", left)
	}
	all := fmt.Sprint(q.Message, q.Why, q.Shown)
	if !strings.Contains(q.Why[0], "The MCP server shop asks, in the middle of shop__") || !strings.Contains(q.Why[0], `"Who?`) ||
		!strings.Contains(q.Shown, "name = ") || strings.Contains(all, "\x1b") || strings.Contains(all, canary) {
		t.Errorf("shows %s", all)
	}
}

// TestQuestionsThatCannotBeAsked are declined at once.
func TestQuestionsThatCannotBeAsked(t *testing.T) {
	p := newParlour(t, definition.StreamableHTTP, nil)
	if got := p.run(somebody, p.dispatched("shop", "odd", `{}`)); got.Content != "decline null" {
		t.Errorf("%+v", got)
	}
	p = newParlour(t, definition.StreamableHTTP, func(d *definition.Definition) { d.Elicitation = false })
	if got := p.run(somebody, p.dispatched("shop", "ask", `{}`)); got.Outcome == callv1.OK {
		t.Errorf("a server that may not ask: %+v", got)
	}
}

// TestQuestionOfATurnThatEnds: the call ends with its turn, and so does the question.
func TestQuestionOfATurnThatEnds(t *testing.T) {
	for _, transport := range []string{definition.StreamableHTTP, definition.SSE} {
		p := newParlour(t, transport, nil)
		d := p.dispatched("shop", "ask", `{}`)
		p.post(somebody, d)
		q, ref := p.question(d.Call)
		p.post(somebody, turnv1.Cancelled{Turn: d.Turn})
		if got := p.end(d.Call); got.Outcome != callv1.Cancelled {
			t.Errorf("%s: %+v", transport, got)
		}
		_, key := keys()
		p.settle(somebody, signed(key, somebody, q, ref, callv1.AllowOnce, "")) // nobody waits for it
		if got := p.run(another, p.dispatched("shop", "odd", `{}`)); got.Outcome != callv1.OK {
			t.Errorf("%s: the next call: %+v", transport, got)
		}
	}
}

// TestQuestionOfACallThatEnds: a server that does not wait for the answer is not answered out of turn.
func TestQuestionOfACallThatEnds(t *testing.T) {
	p := newParlour(t, definition.SSE, nil)
	d := p.dispatched("shop", "leave", `{}`)
	p.post(somebody, d)
	p.question(d.Call)
	close(p.leave)
	if got := p.end(d.Call); got.Content != "left" {
		t.Errorf("%+v", got)
	}
	select {
	case got := <-p.heard:
		if got != "cancel" {
			t.Errorf("it was answered %q", got)
		}
	case <-time.After(patience):
		t.Fatal("the question has no end")
	}
}

// TestQuestionsSideBySide: since 2026-07-28 each question is that of its call, however many run.
func TestQuestionsSideBySide(t *testing.T) {
	_, key := keys()
	p := newParlour(t, definition.StreamableHTTP, nil)
	first, second := p.dispatched("shop", "ask", `{}`), p.dispatched("shop", "need", `{}`)
	p.post(somebody, first)
	q1, ref1 := p.question(first.Call)
	p.post(another, second)
	p.begun(second.Call)
	p.settle(somebody, signed(key, somebody, q1, ref1, callv1.AllowOnce, `{"name":"Bo"}`)) // a server has one question at a time
	q2, ref2 := p.question(second.Call)
	p.settle(another, signed(key, another, q2, ref2, callv1.AllowOnce, `{"age":1,"name":"Cy"}`))
	if got := p.end(first.Call); got.Content != `accept {"name":"Bo"}` {
		t.Errorf("%+v", got)
	}
	if got := p.end(second.Call); got.Content != `accept {"age":1,"name":"Cy"}` {
		t.Errorf("%+v", got)
	}
}

// TestWhoseQuestion: a server of before 2026-07-28 does not say which call it asks for.
func TestWhoseQuestion(t *testing.T) {
	var l link
	first, second := &errand{}, &errand{}
	whose := func(ctx context.Context) *errand {
		if p, _ := l.about(ctx); p != nil {
			return p.errand
		}
		return nil
	}
	if whose(t.Context()) != nil {
		t.Error("no call runs")
	}
	leave := l.attend(first.with(t.Context()))
	if whose(t.Context()) != first || whose(second.with(t.Context())) != nil {
		t.Error("one call runs")
	}
	l.attend(second.with(t.Context()))
	if whose(t.Context()) != nil || whose(first.with(t.Context())) != first || whose(second.with(t.Context())) != second {
		t.Error("two calls run")
	}
	leave()
	if p, n := l.about(t.Context()); p == nil || p.errand != second || n != 2 {
		t.Errorf("the other one runs: question %d of %+v", n, p)
	}
}
