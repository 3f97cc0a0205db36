package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// sent is what a client was sent.
type sent struct {
	method string
	params any
}

// capturing is a channel whose client is a Go channel.
func capturing(b *Bridge) (*channel, chan sent) {
	out := make(chan sent, 64)
	return newChannel(b, func(_ context.Context, method string, params any) error {
		out <- sent{method, params}
		return nil
	}), out
}

// greet lets a client by a name begin a session.
func greet(t *testing.T, c *channel, name string) {
	t.Helper()
	greeted := make(chan struct{})
	s := mcp.NewServer(&mcp.Implementation{Name: "jetclaw", Version: "1"}, &mcp.ServerOptions{
		SupportedProtocolVersions: legacy(),
		InitializedHandler: func(ctx context.Context, r *mcp.InitializedRequest) {
			c.initialized(ctx, r)
			c.initialized(ctx, r) // a client may say it again
			close(greeted)
		},
	})
	near, far := mcp.NewInMemoryTransports()
	ss, err := s.Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil).Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-greeted
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
	_ = ss.Wait()
}

func TestWhoIsTold(t *testing.T) {
	for _, tc := range []struct {
		mode Mode
		name string
		as   string
		on   bool
	}{
		{Auto, "claude-code", "mcp:claude-code", true},
		{Auto, "Claude Code", "mcp:Claude-Code", true},
		{Auto, "codex", "mcp:codex", false},
		{Auto, "c\nd: é", "mcp:c-d---", false},
		{On, "codex", "mcp:codex", true},
		{On, strings.Repeat("x", 100), "mcp:" + strings.Repeat("x", 40), true},
	} {
		c, _ := capturing(newBridge(t, func(c *Config) { c.Claude = tc.mode }))
		if c.on || c.name != "mcp" {
			t.Errorf("before anybody is there: %v, %s", c.on, c.name)
		}
		if greet(t, c, tc.name); c.on != tc.on || c.name != tc.as {
			t.Errorf("%s, %s: %v, %s", tc.mode, tc.name, c.on, c.name)
		}
	}
}

// TestWhatIsPushed: people's messages, and nothing else, in order.
func TestWhatIsPushed(t *testing.T) {
	h := newHouse(t)
	h.serve(approvals, "approvers", func(context.Context, []byte) (any, error) { return map[string]any{"approvers": []string{"local"}}, nil })
	b := h.started()
	c, out := capturing(b)
	running := make(chan struct{})
	go func() { defer close(running); c.run(t.Context()) }()
	t.Cleanup(func() { <-running })
	h.says(annas, "before the client has said who it is")
	greet(t, c, "claude-code")
	person := messagev1.Sender{ID: "telegram:1", Name: "Anna"}
	const topic, called, house = session.ID("main.telegram.mybot.-100777_t42"), session.ID("claude.mcp.default.x"), session.ID("main.house.x.y")
	for _, said := range []struct {
		s session.ID
		b envelope.Body
	}{
		{annas, messagev1.Edited{Message: "e1", From: person, Text: "edited"}},
		{annas, turnv1.Completed{Text: "an answer"}},
		{annas, turnv1.Failed{Text: "no answer"}},
		{annas, noticev1.Posted{Service: "outbox", Text: "a notice"}},
		{annas, noticev1.Posted{Service: "outbox", Text: "what it has said itself", By: "mcp:claude-code"}},
		{called, messagev1.Received{From: person, Text: "!tool x {}"}},
		{house, messagev1.Received{From: person, Text: "in the house"}},
		{topic, messagev1.Received{From: person, Group: true, Files: []messagev1.File{{Kind: messagev1.Photo}}}},
	} {
		h.append(said.s, said.b)
	}
	last := h.says(bobs, "<b>the last</b>")
	meta := func(key, to, thread, id string) map[string]string {
		return map[string]string{"session_key": key, "channel": "telegram", "to": to, "account_id": "mybot", "thread_id": thread, "message_id": id}
	}
	for _, want := range []channelParams{
		{"before the client has said who it is", meta(string(annas), "1", "", "e1")},
		{"[non-text message]", meta(string(topic), "-100777", "42", fmt.Sprintf("e%d", h.n-1))},
		{"<b>the last</b>", meta(string(bobs), "2", "", last.ID)},
	} {
		if got := <-out; got.method != channelMethod || !reflect.DeepEqual(got.params, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestChannelOverStdio is the whole way: a person writes, the client asks, the person answers.
func TestChannelOverStdio(t *testing.T) {
	h := newHouse(t)
	asked := make(chan sendQuestion, 1)
	h.serve(approvals, "approvers", func(context.Context, []byte) (any, error) {
		return map[string]any{"approvers": []string{"telegram:1"}}, nil
	})
	h.serve(outbox, "send", func(_ context.Context, data []byte) (any, error) {
		var q sendQuestion
		err := json.Unmarshal(data, &q)
		asked <- q
		return sendReceipt{Delivery: "d1", Session: annas}, err
	})
	s := serveStdio(t.Context(), h.started())
	out := bufio.NewScanner(s.out)
	h.write(s.in, strings.Replace(initialize, "by hand", "claude-code", 1))
	if m := h.read(out); !strings.Contains(string(m.Result), `"experimental":{"claude/channel":{},"claude/channel/permission":{}}`) ||
		!strings.Contains(string(m.Result), `<channel source=`) {
		t.Errorf("initialize: %s", m.Result)
	}
	h.write(s.in, initialized)
	h.says(annas, "Hello")
	if m := h.read(out); m.Method != channelMethod || !strings.Contains(string(m.Params), `"content":"Hello"`) || m.ID != nil {
		t.Errorf("%+v", m)
	}
	h.write(s.in, `{"jsonrpc":"2.0","method":"`+requestMethod+`","params":{"request_id":"abcde","tool_name":"Bash","description":"Run it","input_preview":"ls"}}`)
	if q := <-asked; q.Session != string(annas) || q.By != "mcp:claude-code" || q.Permission == nil || q.Permission.Request != "abcde" {
		t.Errorf("asked: %+v", q)
	}
	h.append(bobs, messagev1.PermissionAnswer{Request: "abcde", Allow: true}) // where it was not asked
	h.append(annas, messagev1.PermissionAnswer{Request: "abcdf", Allow: true})
	h.append(annas, messagev1.PermissionAnswer{Request: "abcde"})
	if m := h.read(out); m.Method != permissionMethod || string(m.Params) != `{"behavior":"deny","request_id":"abcde"}` {
		t.Errorf("%+v %s", m, m.Params)
	}
	_ = s.in.Close()
	for out.Scan() {
		t.Errorf("there is more: %s", out.Bytes())
	}
	if err := <-s.served; err != nil {
		t.Error(err)
	}
}

// TestChannelIsOff: then it is a server like any other.
func TestChannelIsOff(t *testing.T) {
	b := newBridge(t, func(c *Config) { c.Claude = Off })
	h := &house{t: t}
	s := serveStdio(t.Context(), b)
	out := bufio.NewScanner(s.out)
	h.write(s.in, strings.Replace(initialize, "by hand", "claude-code", 1))
	if m := h.read(out); strings.Contains(string(m.Result), "claude/channel") || strings.Contains(string(m.Result), "<channel") {
		t.Errorf("initialize: %s", m.Result)
	}
	_ = s.in.Close()
	for out.Scan() {
	}
	if err := <-s.served; err != nil {
		t.Error(err)
	}
}
