package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolsYAML lets a program outside read, write and run things.
const toolsYAML = quietYAML + `
agents: {claude: {client: true, tools: {allow: [read_file, write_file, exec, "files__*"], deny: [files__hidden]}}}
tools: {exec: {enabled: true, sandbox: none}}
`

// TestBridgeTools: a client outside uses the agent's tools, and no others; what asks a person waits for one, and never for a client.
func TestBridgeTools(t *testing.T) {
	t.Parallel()
	u := newUser(t, toolsYAML)
	d := u.start()
	if err := os.WriteFile(filepath.Join(u.home, "workspace", "verse.txt"), []byte("the fourth line\u007f"), 0o600); err != nil {
		t.Fatal(err)
	}
	u.run("mcp", "serve", "--tools", "--agent", "nobody").want(t, 0) // its stdin has ended: there was nothing to do
	progress := make(chan string, 100)
	o := u.outsideWith(mcp.NewClient(&mcp.Implementation{Name: "visitor", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Message },
	}), "--tools")
	list, err := o.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "exec read_file write_file" {
		t.Errorf("it is offered %s", got)
	}
	if res := o.try("read_file", map[string]any{"path": "verse.txt"}); res.IsError || !strings.Contains(wordsIn(res), "the fourth line") {
		t.Errorf("%s", wordsIn(res))
	}
	o.fails("none.txt", "read_file", map[string]any{"path": "none.txt"})
	o.fails("", "read_file", map[string]any{"path": 7})
	if _, err := o.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_files", Arguments: map[string]any{}}); err == nil {
		t.Error("a tool was called that is not allowed")
	}
	written := o.try("write_file", map[string]any{"path": "new.txt", "content": "tab\there, delete \u007f there"})
	if got, err := os.ReadFile(filepath.Join(u.home, "workspace", "new.txt")); err != nil || string(got) != "tab\there, delete \u007f there" {
		t.Errorf("%q, %v: %s", got, err, wordsIn(written))
	}

	asked := &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"command": "echo done by hand"}}
	asked.SetProgressToken("p1")
	answer := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, err := o.CallTool(t.Context(), asked)
		if err != nil {
			res = &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
		}
		answer <- res
	}()
	if text := <-progress; !strings.Contains(text, "waits until a person allows it") {
		t.Errorf("progress: %s", text)
	}
	id := u.listed().Approvals[0].Approval
	other := u.outside("visitor")
	other.fails("no such program may allow it", "permissions_respond", map[string]any{"kind": "exec", "id": id, "decision": "allow-once"})
	u.run("approvals", "approve", id).want(t, 0)
	if res := <-answer; res.IsError || !strings.Contains(wordsIn(res), "done by hand") {
		t.Errorf("%s", wordsIn(res))
	}
	o.withdrawn(u)
	d.stop()
}

// withdrawn: a call that its client gives up is over, and cannot be allowed any more.
func (o *outside) withdrawn(u *user) {
	o.t.Helper()
	other := u.outside("watcher")
	_, before := other.since(0)
	ctx, cancel := context.WithCancel(o.t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := o.CallTool(ctx, &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"command": "touch never"}})
		ended <- err
	}()
	e := calls[struct{ Event seenEvent }](other, "events_wait", map[string]any{"after_cursor": before, "types": []string{"exec_approval_requested"}}).Event
	cancel()
	if err := <-ended; err == nil {
		o.t.Error("it was answered")
	}
	done := calls[struct{ Event seenEvent }](other, "events_wait", map[string]any{"after_cursor": e.Cursor, "types": []string{"exec_approval_resolved"}}).Event
	if done.Raw.ID != e.Raw.ID || done.Raw.Decision != "cancelled" {
		o.t.Errorf("%+v, %+v", e, done)
	}
	u.run("approvals", "approve", e.Raw.ID).want(o.t, exitFailed)
	for i := range 12 { // at every moment of it
		ctx, cancel := context.WithTimeout(o.t.Context(), time.Duration(i)*time.Millisecond)
		if _, err := o.CallTool(ctx, &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"command": "touch never"}}); err == nil {
			o.t.Error("it was answered")
		}
		cancel()
	}
	if res := o.try("read_file", map[string]any{"path": "new.txt"}); res.IsError { // and the next is not held up
		o.t.Errorf("%s", wordsIn(res))
	}
	if open := u.listed().Approvals; len(open) > 0 {
		o.t.Errorf("still asked: %+v", open)
	}
}

// TestBridgeToolsEnd: with the server the call ends that it was asked for.
func TestBridgeToolsEnd(t *testing.T) {
	t.Parallel()
	u := newUser(t, toolsYAML)
	u.start()
	cmd := u.command("mcp", "serve", "--tools")
	cmd.Stderr = t.Output()
	c := mcp.NewClient(&mcp.Implementation{Name: "visitor", Version: "1"}, nil)
	o := u.connected(c, &mcp.CommandTransport{Command: cmd})
	watcher := u.outside("watcher")
	_, before := watcher.since(0)
	answer := o.later("exec", map[string]any{"command": "touch never"})
	e := calls[struct{ Event seenEvent }](watcher, "events_wait", map[string]any{"after_cursor": before, "types": []string{"exec_approval_requested"}}).Event
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-answer
	done := calls[struct{ Event seenEvent }](watcher, "events_wait", map[string]any{"after_cursor": e.Cursor, "types": []string{"exec_approval_resolved"}}).Event
	if done.Raw.ID != e.Raw.ID || done.Raw.Decision != "cancelled" {
		t.Errorf("%+v, %+v", e, done)
	}
}
