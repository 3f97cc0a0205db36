package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// outside is an MCP client of `jetclaw mcp serve`.
type outside struct {
	t *testing.T
	*mcp.ClientSession
}

// outside starts the server as a client would, over stdio.
func (u *user) outside(name string, args ...string) *outside {
	u.t.Helper()
	return u.outsideWith(mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil), args...)
}

func (u *user) outsideWith(c *mcp.Client, args ...string) *outside {
	u.t.Helper()
	cmd := u.command(append([]string{"mcp", "serve"}, args...)...)
	cmd.Stderr = u.t.Output()
	return u.connected(c, &mcp.CommandTransport{Command: cmd})
}

func (u *user) connected(c *mcp.Client, via mcp.Transport) *outside {
	u.t.Helper()
	s, err := c.Connect(u.t.Context(), via, nil)
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { _ = s.Close() }) // closed already, as a rule
	return &outside{u.t, s}
}

// try calls a tool.
func (o *outside) try(name string, args map[string]any) *mcp.CallToolResult {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), 2*patience)
	defer cancel()
	res, err := o.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		o.t.Fatalf("%s %v: %v", name, args, err)
	}
	return res
}

// later calls a tool beside what the test does; what it says comes by the channel.
func (o *outside) later(name string, args map[string]any) <-chan string {
	text := make(chan string, 1)
	go func() {
		ctx, cancel := context.WithTimeout(o.t.Context(), 2*patience)
		defer cancel()
		res, err := o.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			text <- err.Error()
			return
		}
		text <- wordsIn(res)
	}()
	return text
}

// fails calls a tool that has to say why it cannot.
func (o *outside) fails(words, name string, args map[string]any) {
	o.t.Helper()
	if res := o.try(name, args); !res.IsError || !strings.Contains(wordsIn(res), words) {
		o.t.Errorf("%s %v: want an error with %q: %s", name, args, words, wordsIn(res))
	}
}

func wordsIn(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// calls calls a tool and reads its structured result.
func calls[T any](o *outside, name string, args map[string]any) (out T) {
	o.t.Helper()
	res := o.try(name, args)
	if res.IsError {
		o.t.Fatalf("%s %v: %s", name, args, wordsIn(res))
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		o.t.Fatalf("%s: %v", name, err)
	}
	return out
}

type seenEvents struct {
	Events []seenEvent
	Next   uint64 `json:"next_cursor"`
	More   bool
}

type seenEvent struct {
	Cursor  uint64
	Type    string
	Session string `json:"sessionKey"`
	Role    string
	From    string
	Text    string
	Raw     struct {
		ID       string
		Decision string
		Request  string `json:"requestId"`
	}
}

// since polls until there is no more.
func (o *outside) since(cursor uint64, types ...string) (all []seenEvent, next uint64) {
	o.t.Helper()
	for {
		args := map[string]any{"after_cursor": cursor, "limit": 200}
		if len(types) > 0 {
			args["types"] = types
		}
		got := calls[seenEvents](o, "events_poll", args)
		all, cursor = append(all, got.Events...), got.Next
		if !got.More {
			return all, cursor
		}
	}
}

const quietYAML = offlineYAML + "channels: {http: {listen: off}}\n"

const (
	here    = "main.terminal.local.default"
	nowhere = "main.terminal.local.nowhere"
)

// TestBridge goes through what a client outside can do with conversations.
func TestBridge(t *testing.T) {
	t.Parallel()
	u := newUser(t, quietYAML)
	d := u.start()
	u.run("chat", "good morning").want(t, 0)
	o := u.outside("visitor")
	list, err := o.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 9 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	for _, tool := range list.Tools {
		if tool.OutputSchema == nil || tool.Annotations == nil || tool.Title == "" {
			t.Errorf("%s says too little of itself", tool.Name)
		}
	}
	type conversation struct{ SessionKey, Channel, DerivedTitle, LastMessagePreview string }
	all := calls[struct{ Conversations []conversation }](o, "conversations_list", map[string]any{"includeDerivedTitles": true})
	if c := all.Conversations; len(c) != 1 || c[0].SessionKey != here || c[0].DerivedTitle != "good morning" || c[0].LastMessagePreview != "" {
		t.Errorf("%+v", c)
	}
	one := calls[struct{ Conversation conversation }](o, "conversation_get", map[string]any{"session_key": here})
	if !strings.Contains(one.Conversation.LastMessagePreview, "good morning") {
		t.Errorf("%+v", one)
	}
	sent := calls[struct{ DeliveryID, Status string }](o, "messages_send", map[string]any{"session_key": here, "text": "from outside", "wait": true})
	if sent.Status != "sent" || sent.DeliveryID == "" {
		t.Errorf("%+v", sent)
	}
	again := map[string]any{"session_key": here, "text": "once", "idempotency_key": "k1"}
	first := calls[struct{ DeliveryID string }](o, "messages_send", again)
	if second := calls[struct{ DeliveryID string }](o, "messages_send", again); second != first {
		t.Errorf("%v, then %v", first, second)
	}
	read := calls[struct {
		Messages []struct {
			ID, Role, From string
			Content        []struct{ Text string }
		}
	}](o, "messages_read", map[string]any{"session_key": here, "limit": 2}).Messages
	if len(read) != 2 || read[0].From != "mcp:visitor" || read[0].Role != "assistant" || read[1].Content[0].Text != "once" {
		t.Errorf("%+v", read)
	}
	if a := calls[struct{ Attachments []any }](o, "attachments_fetch", map[string]any{"session_key": here, "message_id": read[0].ID}); len(a.Attachments) != 0 {
		t.Errorf("%+v", a)
	}
	events, _ := o.since(0)
	var texts []string
	for _, e := range events {
		texts = append(texts, e.Role+": "+e.Text)
	}
	if len(texts) != 4 || texts[0] != "user: good morning" || texts[2] != "assistant: from outside" || texts[3] != "assistant: once" {
		t.Errorf("%q", texts)
	}
	o.refusals()
	o.resources(one.Conversation.SessionKey)
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// refusals are what no client gets.
func (o *outside) refusals() {
	o.t.Helper()
	for _, tool := range []string{"conversation_get", "messages_read"} {
		o.fails("conversation not found", tool, map[string]any{"session_key": nowhere})
		o.fails("conversation not found", tool, map[string]any{"session_key": "nonsense"})
	}
	o.fails("conversation not found", "messages_send", map[string]any{"session_key": nowhere, "text": "x"})
	o.fails("conversation not found", "events_poll", map[string]any{"session_key": nowhere})
	o.fails("message not found", "attachments_fetch", map[string]any{"session_key": here, "message_id": "none"})
	o.fails("not of this journal", "events_poll", map[string]any{"after_cursor": 1 << 40})
	o.fails("not of this journal", "events_wait", map[string]any{"after_cursor": 1 << 40})
	o.fails("unknown or expired approval id", "permissions_respond", map[string]any{"kind": "exec", "id": "none", "decision": "deny"})
	o.fails("100000", "messages_send", map[string]any{"session_key": here, "text": strings.Repeat("x", 100_001)})
	for name, args := range map[string]map[string]any{
		"conversations_list": {"limit": 501}, "messages_read": {"session_key": here, "limit": 201}, "events_poll": {"limit": 0},
		"events_wait": {"timeout_ms": 300_001}, "conversation_get": {"session_key": here, "extra": true}, "attachments_fetch": {"session_key": here},
		"messages_send": {"session_key": here, "text": ""}, "permissions_list_open": {"x": 1},
		"permissions_respond": {"kind": "else", "id": "x", "decision": "deny"},
	} {
		o.fails("", name, args)
	}
}

// resources reads a conversation as resources, and is told of news in it.
func (o *outside) resources(key string) {
	o.t.Helper()
	uri := "jetclaw://conversations/" + key
	list, err := o.ListResources(o.t.Context(), nil)
	if err != nil || !slices.ContainsFunc(list.Resources, func(r *mcp.Resource) bool { return r.URI == uri+"/messages" }) {
		o.t.Errorf("%+v, %v", list, err)
	}
	res, err := o.ReadResource(o.t.Context(), &mcp.ReadResourceParams{URI: uri + "/messages"})
	if err != nil || len(res.Contents) != 1 || !strings.Contains(res.Contents[0].Text, "from outside") {
		o.t.Errorf("%+v, %v", res, err)
	}
	if _, err := o.ReadResource(o.t.Context(), &mcp.ReadResourceParams{URI: "jetclaw://conversations/" + nowhere}); err == nil {
		o.t.Error("a conversation that there is not was read")
	}
}

// TestBridgeSubscription: who has subscribed to a conversation is told of news in it.
func TestBridgeSubscription(t *testing.T) {
	t.Parallel()
	u := newUser(t, quietYAML)
	u.start()
	u.run("chat", "one").want(t, 0)
	news := make(chan string, 100)
	o := u.outsideWith(mcp.NewClient(&mcp.Implementation{Name: "visitor", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { news <- r.Params.URI },
	}))
	uri := "jetclaw://conversations/" + here
	if err := o.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	if err := o.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "jetclaw://conversations/" + nowhere}); err == nil {
		t.Error("subscribed to what there is not")
	}
	u.run("chat", "two").want(t, 0)
	if got := <-news; got != uri {
		t.Errorf("told of %s", got)
	}
}

// TestBridgeRestart: a client polls, the daemon is killed and started again, 300 messages come meanwhile, and the client's next polls
// have exactly those, in order. A wait that began before goes on.
func TestBridgeRestart(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	u := newUser(t, offlineYAML+fmt.Sprintf("channels: {http: {listen: \"127.0.0.1:%d\"}}\n", port))
	d := u.start()
	u.run("chat", "before").want(t, 0)
	o := u.outside("visitor")
	_, cursor := o.since(0)
	d.kill()
	waited := o.later("events_wait", map[string]any{"after_cursor": cursor, "timeout_ms": 60_000})
	u.start()
	const n = 300
	for i := range n {
		body := fmt.Sprintf(`{"session":"s%d","text":"number %d"}`, i%7, i)
		var taken struct{ Cursor uint64 }
		if code := u.call(http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/v1/messages", port), body, &taken); code != http.StatusAccepted {
			t.Fatalf("%d", code)
		}
	}
	if text := <-waited; !strings.Contains(text, "number 0") {
		t.Errorf("the wait has %s", text)
	}
	all, _ := o.since(cursor)
	i := 0
	for _, e := range all {
		if e.Role != "user" {
			continue
		}
		if want := fmt.Sprintf("number %d", i); e.Text != want {
			t.Fatalf("message %d is %q", i, e.Text)
		}
		i++
	}
	if i != n {
		t.Errorf("%d messages", i)
	}
	fresh := u.outside("another") // a server that was not there knows the same past
	if again, _ := fresh.since(cursor); len(again) < len(all) || again[0] != all[0] {
		t.Errorf("%d events, then %d", len(all), len(again))
	}
}

// TestBridgeWaits: without a daemon the server is there, and what it is asked waits for one.
func TestBridgeWaits(t *testing.T) {
	t.Parallel()
	u := newUser(t, quietYAML)
	o := u.outside("visitor")
	answer := o.later("conversations_list", nil)
	u.start()
	if text := <-answer; !strings.HasPrefix(text, "conversations: 0") {
		t.Errorf("%s", text)
	}
}

// TestBridgeHTTP serves over HTTP to who has a token, for as long as it stands in the file.
func TestBridgeHTTP(t *testing.T) {
	t.Parallel()
	u := newUser(t, quietYAML)
	u.start()
	u.run("chat", "hello").want(t, 0)
	port := freePort(t)
	cmd := u.command("mcp", "serve", "--http", fmt.Sprint(port))
	stderr := newWatched()
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); stderr.close() })
	stderr.waitFor(t, "bearer token in")
	file := filepath.Join(u.home, "keys", "mcp.token")
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
	via := func(token string) *mcp.StreamableClientTransport {
		return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearing(strings.TrimSpace(token))}}
	}
	for _, version := range []string{"2025-06-18", ""} { // both eras
		c := mcp.NewClient(&mcp.Implementation{Name: "visitor", Version: "1"}, nil)
		s, err := c.Connect(t.Context(), via(string(token)), &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		o := &outside{t, s}
		sent := calls[struct{ DeliveryID string }](o, "messages_send", map[string]any{"session_key": here, "text": "hi"})
		if sent.DeliveryID == "" {
			t.Error("nothing was sent")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	o := u.connected(mcp.NewClient(&mcp.Implementation{Name: "visitor", Version: "1"}, nil), via(string(token)))
	if _, err := mcp.NewClient(&mcp.Implementation{Name: "x", Version: "1"}, nil).Connect(t.Context(), via("wrong-wrong-wrong-wrong"), nil); err == nil {
		t.Error("a wrong token was let in")
	}
	if err := os.WriteFile(file, []byte("laptop 0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := o.CallTool(t.Context(), &mcp.CallToolParams{Name: "conversations_list"}); err == nil {
		t.Error("the old token is still good")
	}
	o = u.connected(mcp.NewClient(&mcp.Implementation{Name: "visitor", Version: "1"}, nil), via("0123456789abcdef"))
	calls[struct{ DeliveryID string }](o, "messages_send", map[string]any{"session_key": here, "text": "by name"})
	if r := u.run("events", "--json"); !strings.Contains(r.stdout, `"by":"mcp:laptop:visitor"`) {
		t.Errorf("%s", r.stdout)
	}
}

type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// TestBridgeElsewhere serves a jetclaw by its URL and a key of its own, from a home without anything.
func TestBridgeElsewhere(t *testing.T) {
	t.Parallel()
	u := newUser(t, quietYAML)
	u.start()
	u.run("chat", "hello").want(t, 0)
	far := newUser(t, "")
	o := far.outside("visitor", "--url", u.bus(), "--token-file", filepath.Join(u.home, "keys", "bridge.nk"))
	if all := calls[struct{ Conversations []any }](o, "conversations_list", nil); len(all.Conversations) != 1 {
		t.Errorf("%+v", all)
	}
	far.run("mcp", "serve", "--url", u.bus(), "--token-file", filepath.Join(u.home, "keys", "none.nk")).want(t, exitSecrets, "none.nk")
	far.run("mcp", "serve", "--url", u.bus(), "--token", "nonsense").want(t, exitSecrets, "--token")
}

// TestBridgeUsage: wrong flags, and what is printed for clients.
func TestBridgeUsage(t *testing.T) {
	t.Parallel()
	u := newUser(t, "")
	for words, args := range map[string][]string{
		"--claude-channel-mode": {"--claude-channel-mode", "perhaps"}, "--print-config": {"--print-config", "vim"}, "--http": {"--http", "here:"},
		"exclude": {"--token", "a", "--token-file", "b"}, "--tools": {"--agent", "x"}, "go with --http": {"--host", "x"},
	} {
		u.run(append([]string{"mcp", "serve"}, args...)...).want(t, exitUsage, words)
	}
	u.run("mcp", "serve", "--tools").want(t, exitFailed, "client: true")
	for client, words := range map[string]string{"claude": `"mcpServers"`, "codex": "[mcp_servers.jetclaw]", "cursor": `"mcpServers"`, "generic": `"mcpServers"`} {
		r := u.run("mcp", "serve", "--print-config", client)
		r.want(t, 0)
		if !strings.Contains(r.stdout, words) || !strings.Contains(r.stdout, "serve") || !strings.Contains(r.stdout, u.home) {
			t.Errorf("%s: %s", client, r.stdout)
		}
		r = u.run("mcp", "serve", "--print-config", client, "--http", "7460")
		if !strings.Contains(r.stdout, "http://127.0.0.1:7460/mcp") || strings.Contains(r.stdout, "Bearer ey") {
			t.Errorf("%s: %s", client, r.stdout)
		}
	}
}

// freePort is one that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of a TCP listener
}
