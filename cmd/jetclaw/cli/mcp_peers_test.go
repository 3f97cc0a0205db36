//go:build peers

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// mcpServer is the command of one of npm's MCP servers.
func mcpServer(t *testing.T, name string, args ...string) []string {
	t.Helper()
	bin := filepath.Join(peers(t), "mcp", "node_modules", ".bin")
	return append([]string{filepath.Join(bin, "node"), filepath.Join(bin, "mcp-server-"+name)}, args...)
}

// probeAnswer is what `mcp probe NAME --json` says of a server.
type probeAnswer struct {
	Servers map[string]struct {
		Launch    string
		Tools     int
		Resources bool
		Prompts   bool
		Server    struct{ Name, Protocol string }
	}
	Tools       []string
	Diagnostics []struct{ ServerName, Message string }
}

func (u *user) probe(name string) probeAnswer {
	u.t.Helper()
	r := u.run("mcp", "probe", name, "--json")
	r.want(u.t, exitOK)
	var p probeAnswer
	if err := json.Unmarshal([]byte(r.stdout), &p); err != nil {
		u.t.Fatalf("%v: %s", err, r.stdout)
	}
	if len(p.Diagnostics) != 0 || len(p.Servers) != 1 {
		u.t.Errorf("%s", r.stdout)
	}
	return p
}

// offered waits until the daemon has found out by itself what the one server of the file offers.
func (u *user) offered() {
	u.t.Helper()
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		r := u.run("mcp", "status", "--json")
		r.want(u.t, exitOK)
		var s struct{ Servers []struct{ Tools int } }
		if err := json.Unmarshal([]byte(r.stdout), &s); err != nil {
			u.t.Fatalf("%v: %s", err, r.stdout)
		}
		if len(s.Servers) == 1 && s.Servers[0].Tools > 0 {
			return
		}
		if time.Since(begin) > patience {
			u.t.Fatalf("its tools do not come: %s", r.stdout)
		}
	}
}

// asks has the offline model call a tool, and returns what comes of it.
func (u *user) asks(session, tool string, args any) result {
	u.t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		u.t.Fatal(err)
	}
	return u.run("chat", "--session", session, fmt.Sprintf("!tool %s %s", tool, b))
}

// noneLeft fails when a process still has a text in its arguments: each command is to end the servers that it has started.
func noneLeft(t *testing.T, text string) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		left := holding(t, text)
		if len(left) == 0 {
			return
		}
		if time.Since(begin) > patience {
			t.Fatalf("left behind: %q", left)
		}
	}
}

func holding(t *testing.T, text string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(text)) {
			found = append(found, strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return found
}

// TestPeersMCPFiles reads a file in a chat: after a person has allowed it, and without a question where the owner wants none.
func TestPeersMCPFiles(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const content = "the fourth line of the third verse"
	file := filepath.Join(folder, "verse.txt")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	u := newUser(t, offlineYAML)
	u.run(append([]string{"mcp", "add", "files", "--"}, mcpServer(t, "filesystem", folder)...)...).want(t, exitOK)
	p := u.probe("files")
	if s := p.Servers["files"]; s.Server.Name != "secure-filesystem-server" || s.Tools < 10 || s.Resources || s.Prompts ||
		!slices.Contains(p.Tools, "files__read_text_file") {
		t.Errorf("%+v", p)
	}
	path := map[string]string{"path": file}
	r := u.asks("asked", "files__read_text_file", path)
	r.want(t, exitApproval, "may files__read_text_file run?", "jetclaw approvals approve ")
	open := u.listed().Approvals
	if len(open) != 1 {
		t.Fatalf("open: %+v", open)
	}
	r = u.run("approvals", "approve", open[0].Approval)
	r.want(t, exitOK)
	if !strings.Contains(r.stdout+r.stderr, content) {
		t.Errorf("the file was not read:\n%s\n%s", r.stdout, r.stderr)
	}

	u.run("mcp", "configure", "files", "--approval", "approve").want(t, exitOK)
	r = u.asks("unasked", "files__read_text_file", path)
	r.want(t, exitOK)
	if !strings.Contains(r.stdout, content) {
		t.Errorf("the file was not read:\n%s\n%s", r.stdout, r.stderr)
	}
	r = u.asks("refused", "files__read_text_file", map[string]string{"path": "/etc/hostname"})
	r.want(t, exitOK)
	if !strings.Contains(r.stdout, "denied") {
		t.Errorf("what the server refuses is not told:\n%s", r.stdout)
	}
	noneLeft(t, folder)
}

// TestPeersMCPMemory keeps something in one conversation and reads it in another, under a daemon.
func TestPeersMCPMemory(t *testing.T) {
	u := newUser(t, offlineYAML+"channels: {http: {listen: off}}\n")
	memory := filepath.Join(t.TempDir(), "memory.jsonl")
	d := u.start()
	args := append([]string{"mcp", "add", "memory", "--approval", "approve", "--env", "MEMORY_FILE_PATH=" + memory, "--"}, mcpServer(t, "memory")...)
	u.run(args...).want(t, exitOK)
	if p := u.probe("memory"); p.Servers["memory"].Tools < 5 {
		t.Errorf("%+v", p)
	}
	u.offered()
	entity := map[string]any{"name": "Ada", "entityType": "person", "observations": []string{"writes programs"}}
	r := u.asks("one", "memory__create_entities", map[string]any{"entities": []any{entity}})
	r.want(t, exitOK)
	r = u.asks("two", "memory__read_graph", map[string]any{})
	r.want(t, exitOK)
	if !strings.Contains(r.stdout, "writes programs") {
		t.Errorf("%s\n%s", r.stdout, r.stderr)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, d.stderr)
	}
}

// TestPeersMCPEverything speaks all three transports with a server that has a bit of everything.
func TestPeersMCPEverything(t *testing.T) {
	for _, transport := range []string{"stdio", "streamableHttp", "sse"} {
		t.Run(transport, func(t *testing.T) {
			u := newUser(t, offlineYAML)
			add := []string{"mcp", "add", "every", "--approval", "approve"}
			switch transport {
			case "stdio":
				add = append(append(add, "--"), mcpServer(t, "everything", "stdio")...)
			case "sse":
				add = append(add, "--url", serveEverything(t, transport)+"/sse", "--transport", "sse")
			default:
				add = append(add, "--url", serveEverything(t, transport)+"/mcp")
			}
			u.run(add...).want(t, exitOK)
			p := u.probe("every")
			s := p.Servers["every"]
			if s.Server.Name != "mcp-servers/everything" || s.Tools < 8 || !s.Resources || !s.Prompts ||
				!slices.Contains(p.Tools, "every__echo") || !slices.Contains(p.Tools, "every__resources_read") {
				t.Errorf("%+v", p)
			}
			for tool, c := range map[string]struct {
				args map[string]any
				want string
			}{
				"every__echo":           {map[string]any{"message": "mellon"}, "Echo: mellon"},
				"every__get-sum":        {map[string]any{"a": 40, "b": 2}, "42"},
				"every__resources_list": {map[string]any{}, "demo://"},
				"every__prompts_list":   {map[string]any{}, "simple-prompt"},
			} {
				r := u.asks("default", tool, c.args)
				r.want(t, exitOK)
				if !strings.Contains(r.stdout, c.want) {
					t.Errorf("%s: no %q in\n%s\n%s", tool, c.want, r.stdout, r.stderr)
				}
			}
		})
	}
}

// serveEverything starts the server on a free port and returns its address.
func serveEverything(t *testing.T, transport string) string {
	t.Helper()
	address := freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	argv := mcpServer(t, "everything", transport)
	c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	c.Env = append(os.Environ(), "PORT="+port)
	out := newWatched()
	c.Stderr = out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Wait() }) // the test's context has ended it
	out.waitFor(t, "on port "+port)
	return "http://" + address
}
