package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
)

// TestBridgeApproval: what is asked in Telegram is allowed once by a client outside, and by nobody a second time.
func TestBridgeApproval(t *testing.T) {
	t.Parallel()
	h := newChatHouse(t, ", access: open", `owners: [local, "telegram:12345"]`+"\n")
	d := h.start()
	o := h.outside("visitor")
	h.telegram.Say("", private(ada), ada, "run "+work)
	prompt := h.answered(ada.ID, "may exec run?", work)
	asked := calls[struct{ Event seenEvent }](o, "events_wait", map[string]any{"after_cursor": 0, "types": []string{"exec_approval_requested"}}).Event
	open := calls[struct {
		Approvals []struct {
			Kind, ID string
			Request  struct{ Shown, SessionKey string }
		}
	}](o, "permissions_list_open", nil).Approvals
	if len(open) != 1 || open[0].Kind != "exec" || open[0].ID != asked.Raw.ID || open[0].Request.SessionKey != "main.telegram.mybot.12345" ||
		!strings.Contains(open[0].Request.Shown, work) {
		t.Fatalf("%+v, %+v", open, asked)
	}
	id := open[0].ID
	answer := func(kind, decision string) map[string]any {
		return map[string]any{"kind": kind, "id": id, "decision": decision}
	}
	o.fails("is of kind exec", "permissions_respond", answer("plugin", "allow-once"))
	o.fails("for always", "permissions_respond", answer("exec", "allow-always"))
	if got := calls[struct{ Status string }](o, "permissions_respond", answer("exec", "allow-once")); got.Status != "allowed" {
		t.Errorf("%+v", got)
	}
	h.answered(ada.ID, "exit code 0")
	h.answered(ada.ID, "may exec run?", "allowed once by local through mcp:visitor")
	tap := h.telegram.Tap(ada.ID, prompt.ID, h.button(prompt, "Deny"), ada)
	h.until("the tap is answered", func() bool {
		a, ok := h.telegram.Answer(tap)
		return ok && strings.Contains(a.Text, "allowed once by local")
	})
	o.fails("first answer counts", "permissions_respond", answer("exec", "deny"))
	if got := calls[struct{ Already bool }](o, "permissions_respond", answer("exec", "allow-once")); !got.Already {
		t.Errorf("%+v", got)
	}
	h.run("approvals", "deny", id).want(t, exitFailed)
	ended, _ := o.since(0, "exec_approval_resolved")
	if len(ended) != 1 || ended[0].Raw.ID != id || ended[0].Raw.Decision != "allow-once" {
		t.Errorf("%+v", ended)
	}
	d.stop()
	h.wantEvents("main.telegram.mybot.12345", map[string]int{"approval.decided.v1": 1, "call.started.v1": 1, "call.completed.v1": 1})
}

// TestBridgeAttachment: a picture that somebody has sent can be had, and that of nobody else.
func TestBridgeAttachment(t *testing.T) {
	t.Parallel()
	h := newChatHouse(t, ", access: open", "")
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	h.start()
	o := h.outside("visitor")
	h.telegram.Say("", private(ada), ada, "what is this?", faketelegram.Photo(faketelegram.Attachment{Name: "a.png", Data: picture.Bytes()}))
	h.until("an answer", func() bool { return len(h.said(ada.ID)) > 0 })
	const chat = "main.telegram.mybot.12345"
	all := calls[struct{ Messages []struct{ ID, Role string } }](o, "messages_read", map[string]any{"session_key": chat, "after": 0}).Messages
	if len(all) < 2 || all[0].Role != "user" {
		t.Fatalf("%+v", all)
	}
	got := calls[struct {
		Attachments []struct{ Kind, ContentType, URL string }
	}](o, "attachments_fetch", map[string]any{"session_key": chat, "message_id": all[0].ID}).Attachments
	if len(got) != 1 || got[0].Kind != "photo" || got[0].ContentType != "image/png" {
		t.Fatalf("%+v", got)
	}
	res, err := o.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: got[0].URL})
	if err != nil || len(res.Contents) != 1 || !bytes.Equal(res.Contents[0].Blob, picture.Bytes()) || res.Contents[0].MIMEType != "image/png" {
		t.Errorf("%+v, %v", res, err)
	}
	h.telegram.Say("", private(eve), eve, "hello")
	h.until("an answer", func() bool { return len(h.said(eve.ID)) > 0 })
	other := strings.Replace(got[0].URL, "12345", "666", 1)
	if _, err := o.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: other}); err == nil {
		t.Error("it was had through another conversation")
	}
}

// rawClient is a client outside that writes and reads the protocol's lines itself: it knows notifications that are not the protocol's.
type rawClient struct {
	t    *testing.T
	in   io.Writer
	news chan rawLine
}

type rawLine struct {
	ID     int
	Method string
	Params struct {
		Content  string
		Meta     map[string]string
		Request  string `json:"request_id"`
		Behavior string
	}
}

// byHand starts a server and says who it is.
func (u *user) byHand(name string) *rawClient {
	u.t.Helper()
	cmd := u.command("mcp", "serve")
	cmd.Stderr = u.t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		u.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		u.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	l := &rawClient{t: u.t, in: in, news: make(chan rawLine, 100)}
	go func() {
		defer close(l.news)
		for d := json.NewDecoder(out); ; {
			var one rawLine
			if d.Decode(&one) != nil {
				return
			}
			l.news <- one
		}
	}()
	u.t.Cleanup(func() {
		_ = in.Close()
		for range l.news { // until it has ended
		}
		if err := cmd.Wait(); err != nil {
			u.t.Errorf("the server ended with %v", err)
		}
	})
	l.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}`, name)
	if got := <-l.news; got.ID != 1 {
		u.t.Fatalf("%+v", got)
	}
	l.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return l
}

func (l *rawClient) say(format string, args ...any) {
	l.t.Helper()
	if _, err := fmt.Fprintf(l.in, format+"\n", args...); err != nil {
		l.t.Fatal(err)
	}
}

// settled waits until the server has reached the journal: what is stored from then on is pushed.
func (l *rawClient) settled() {
	l.t.Helper()
	l.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"events_poll","arguments":{}}}`)
	if got := <-l.news; got.ID != 2 {
		l.t.Fatalf("%+v", got)
	}
}

// TestBridgeClaudeChannel: what people write is pushed to Claude Code, and what it asks permission for is asked where an owner has
// written last, and answered there by nobody else.
func TestBridgeClaudeChannel(t *testing.T) {
	t.Parallel()
	h := newChatHouse(t, ", access: open, streaming: off", `owners: ["telegram:12345"]`+"\n")
	d := h.start()
	l := h.byHand("claude-code")
	l.settled()
	h.telegram.Say("", private(ada), ada, "good morning")
	got := <-l.news
	if got.Method != "notifications/claude/channel" || got.Params.Content != "good morning" || got.Params.Meta["channel"] != "telegram" ||
		got.Params.Meta["to"] != "12345" || got.Params.Meta["session_key"] != "main.telegram.mybot.12345" || got.Params.Meta["account_id"] != "mybot" {
		t.Errorf("%+v", got)
	}
	h.telegram.Say("", private(eve), eve, "me too") // who owns nothing is not asked
	if got := <-l.news; got.Params.Content != "me too" {
		t.Errorf("%+v", got)
	}
	const ask = `{"jsonrpc":"2.0","method":"notifications/claude/channel/permission_request","params":{"request_id":%q,"tool_name":"Bash","description":"Run the tests","input_preview":"go test ./..."}}`
	l.say(ask, "abcde")
	h.answered(ada.ID, "claude-code asks whether it may use a tool", "Bash", "go test ./...", "yes abcde")
	h.telegram.Say("", private(eve), eve, "yes abcde") // a message like any other
	if got := <-l.news; got.Params.Content != "yes abcde" {
		t.Errorf("%+v", got)
	}
	h.telegram.Say("", private(ada), ada, "Yes ABCDE")
	if got := <-l.news; got.Method != "notifications/claude/channel/permission" || got.Params.Request != "abcde" || got.Params.Behavior != "allow" {
		t.Errorf("%+v", got)
	}
	l.say(ask, "fghij")
	h.answered(ada.ID, "no fghij")
	h.telegram.Say("", private(ada), ada, "no fghij")
	if got := <-l.news; got.Params.Request != "fghij" || got.Params.Behavior != "deny" {
		t.Errorf("%+v", got)
	}
	h.telegram.Say("", private(ada), ada, "yes fghij") // the first answer counts: this is for the agent
	if got := <-l.news; got.Method != "notifications/claude/channel" || got.Params.Content != "yes fghij" {
		t.Errorf("%+v", got)
	}
	for _, m := range h.said(eve.ID) {
		if strings.Contains(m, "Bash") {
			t.Errorf("a stranger is asked: %s", m)
		}
	}
	h.answered(ada.ID, "you said: yes fghij")
	d.stop()
	for _, request := range h.model.requests() {
		if strings.Contains(request, "Yes ABCDE") {
			t.Errorf("the model has read the answer: %s", request)
		}
	}
	h.wantEvents("main.telegram.mybot.12345", map[string]int{"permission.answered.v1": 2})
}
