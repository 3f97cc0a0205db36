//go:build peers

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Both ways to reach `jetclaw mcp serve`: tests of it speak both.
const (
	overStdio = "stdio"
	overHTTP  = "http"
)

// served is where a client of one of npm's programs finds the bridge of a user.
type served struct {
	command    []string // stdio
	url, token string   // HTTP
}

// bridgeCommand is what the arguments of a bridge begin with, as the system shows them.
func bridgeCommand() string { return binary + "\x00mcp\x00serve" }

var bridgeURL = regexp.MustCompile(`MCP at (http://\S+)`)

// serve makes the bridge reachable: over stdio a client starts it by itself.
func (u *user) serve(transport string) served {
	u.t.Helper()
	if transport == overStdio {
		return served{command: []string{binary, "mcp", "serve"}}
	}
	c := u.command("mcp", "serve", "--http", "127.0.0.1:0")
	said := newWatched()
	c.Stderr = said
	if err := c.Start(); err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() {
		if err := c.Process.Signal(os.Interrupt); err != nil {
			u.t.Error(err)
		}
		if code := codeOf(u.t, c.Wait()); code != 0 {
			u.t.Errorf("the bridge ends with %d\n%s", code, said)
		}
	})
	text := said.wait(u.t, "its URL", bridgeURL.MatchString)
	b, err := os.ReadFile(filepath.Join(u.home, "keys", "mcp.token"))
	if err != nil {
		u.t.Fatal(err)
	}
	fields := strings.Fields(string(b))
	return served{url: bridgeURL.FindStringSubmatch(text)[1], token: fields[len(fields)-1]}
}

// inspector is the MCP inspector of npm, by its command line: each call is a session of its own.
type inspector struct {
	u  *user
	at served
}

func (i inspector) ask(into any, args ...string) {
	i.u.t.Helper()
	bin := filepath.Join(peers(i.u.t), "mcp", "node_modules", ".bin")
	argv := append([]string{filepath.Join(bin, "mcp-inspector"), "--cli", "--format", "json"}, args...)
	if i.at.url != "" {
		argv = append(argv, "--transport", "http", "--server-url", i.at.url, "--header", "Authorization: Bearer "+i.at.token)
	} else {
		argv = append(append(argv, "-e", "JETCLAW_HOME="+i.u.home), i.at.command...)
	}
	c := exec.CommandContext(i.u.t.Context(), filepath.Join(bin, "node"), argv...)
	c.Env = i.u.env
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		i.u.t.Fatalf("%q: %v\n%s\n%s", args, err, &out, &said)
	}
	if err := json.Unmarshal(out.Bytes(), &struct{ Result any }{into}); err != nil {
		i.u.t.Fatalf("%q: %v: %s", args, err, &out)
	}
}

// call calls a tool and takes its structured result.
func (i inspector) call(into any, tool string, args map[string]any) {
	i.u.t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		i.u.t.Fatal(err)
	}
	i.ask(&struct{ StructuredContent any }{into}, "--method", "tools/call", "--tool-name", tool, "--tool-args-json", string(b))
}

// bridgeEvent is what events have that these tests look at.
type bridgeEvent struct {
	Cursor           uint64
	Type, Role, Text string
	Raw              struct{ ID, Status string } // of those that are no messages
}

type bridgePage struct {
	Events []bridgeEvent
	Next   uint64 `json:"next_cursor"`
	More   bool
	Gap    any
}

// TestPeersMCPServeInspector lists and calls every tool, with conversations that somebody has in a terminal.
func TestPeersMCPServeInspector(t *testing.T) {
	for _, transport := range []string{overStdio, overHTTP} {
		t.Run(transport, func(t *testing.T) {
			u := newUser(t, offlineYAML+"channels: {http: {listen: off}}\n")
			d := u.start()
			u.run("chat", "hello").want(t, exitOK)
			approval := u.parked("--session", "work", asksFor).Approval
			i := inspector{u, u.serve(transport)}
			var list struct{ Tools []struct{ Name string } }
			i.ask(&list, "--method", "tools/list", "--strict") // an error when a schema is one that not every client understands
			names := []string{}
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			slices.Sort(names)
			if want := []string{
				"attachments_fetch", "conversation_get", "conversations_list", "events_poll", "events_wait", "messages_read", "messages_send",
				"permissions_list_open", "permissions_respond",
			}; !slices.Equal(names, want) {
				t.Errorf("tools %q", names)
			}
			i.conversations()
			i.approval(approval)
			i.send()
			if code := d.stop(); code != 0 {
				t.Errorf("exit %d\n%s", code, d.stderr)
			}
			if transport == overStdio { // it ends with its client
				noneLeft(t, bridgeCommand())
			}
		})
	}
}

const hello, atWork = "main.terminal.local.default", "main.terminal.local.work"

type bridgeMessages struct {
	Messages []struct {
		ID, Role string
		Content  []struct{ Type, Text string }
	}
}

// conversations reads what was said.
func (i inspector) conversations() {
	t := i.u.t
	t.Helper()
	type seen struct {
		SessionKey, Channel, DerivedTitle string
		MessageCount                      int
	}
	var list struct{ Conversations []seen }
	i.call(&list, "conversations_list", map[string]any{"includeDerivedTitles": true})
	if len(list.Conversations) != 2 || list.Conversations[0].SessionKey != atWork ||
		list.Conversations[1] != (seen{hello, "terminal", "hello", 2}) {
		t.Errorf("%+v", list)
	}
	var got struct{ Conversation seen }
	i.call(&got, "conversation_get", map[string]any{"session_key": hello})
	if got.Conversation != (seen{hello, "terminal", "hello", 2}) {
		t.Errorf("%+v", got)
	}
	var read bridgeMessages
	i.call(&read, "messages_read", map[string]any{"session_key": hello})
	if len(read.Messages) != 2 || read.Messages[0].Role != "user" || read.Messages[0].Content[0].Text != "hello" ||
		read.Messages[1].Role != "assistant" || !strings.HasPrefix(read.Messages[1].Content[0].Text, `You said: "hello"`) {
		t.Fatalf("%+v", read)
	}
	var files struct {
		Attachments []any
		Message     struct{ ID string }
	}
	i.call(&files, "attachments_fetch", map[string]any{"session_key": hello, "message_id": read.Messages[0].ID})
	if files.Attachments == nil || len(files.Attachments) != 0 || files.Message.ID != read.Messages[0].ID {
		t.Errorf("%+v", files)
	}
	var resources struct{ Resources []struct{ URI string } }
	i.ask(&resources, "--method", "resources/list")
	if len(resources.Resources) != 4 {
		t.Errorf("%+v", resources)
	}
}

// approval allows what an agent has asked for, and waits for what comes of it.
func (i inspector) approval(id string) {
	t := i.u.t
	t.Helper()
	var page bridgePage
	i.call(&page, "events_poll", map[string]any{"after_cursor": 0})
	kinds := []string{}
	for _, e := range page.Events {
		kinds = append(kinds, e.Type)
	}
	if want := []string{"message", "message", "message", "exec_approval_requested"}; !slices.Equal(kinds, want) || page.Events[3].Raw.ID != id {
		t.Errorf("%+v", page)
	}
	var open struct{ Approvals []struct{ Kind, ID string } }
	i.call(&open, "permissions_list_open", map[string]any{})
	if len(open.Approvals) != 1 || open.Approvals[0].ID != id || open.Approvals[0].Kind != "exec" {
		t.Fatalf("%+v", open)
	}
	var answer struct{ ID, Status, Decision string }
	i.call(&answer, "permissions_respond", map[string]any{"kind": "exec", "id": id, "decision": "allow-once"})
	if answer.ID != id || answer.Status != "allowed" || answer.Decision != "allow-once" {
		t.Errorf("%+v", answer)
	}
	var waited struct{ Event *bridgeEvent }
	i.call(&waited, "events_wait", map[string]any{"after_cursor": page.Next, "session_key": atWork, "types": []string{"turn_completed"}})
	if waited.Event == nil || waited.Event.Raw.Status != "completed" {
		t.Fatalf("%+v", waited.Event)
	}
	if text := i.u.file("AGENTS.md"); !strings.Contains(text, "be kind") {
		t.Errorf("what was allowed has not run: %q", text)
	}
}

// send says something to the person.
func (i inspector) send() {
	t := i.u.t
	t.Helper()
	var sent struct{ Status, SessionKey, DeliveryID string }
	i.call(&sent, "messages_send", map[string]any{"session_key": hello, "text": "from outside", "wait": true})
	if sent.Status != "sent" || sent.SessionKey != hello || sent.DeliveryID == "" {
		t.Errorf("%+v", sent)
	}
	var read bridgeMessages
	i.call(&read, "messages_read", map[string]any{"session_key": hello, "limit": 1})
	if len(read.Messages) != 1 || read.Messages[0].Content[0].Text != "from outside" {
		t.Errorf("%+v", read)
	}
}
