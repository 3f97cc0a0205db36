package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fakeMCPMode is the variable that makes this test binary an MCP server on stdio.
const fakeMCPMode = "JETCLAW_TEST_MCP_SERVER"

// wasFakeMCP says whether this process has been an MCP server, and is to end with a code.
func wasFakeMCP() (code int, was bool) {
	switch os.Getenv(fakeMCPMode) {
	case "good":
		return serveMCP(), true
	case "holds":
		return holdMCP(os.Getenv("FAKE_DIR")), true
	case "leaves": // with a secret on its lips
		fmt.Fprintf(os.Stderr, "first line\ncannot log in with %s\n", os.Getenv("FAKE_API_KEY"))
		return 3, true
	case "babbles":
		for range 5 {
			fmt.Println("this is no JSON")
		}
		return 0, true
	}
	return 0, false
}

func serveMCP() int {
	if err := newFakeMCP().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// holdMCP serves one tool that begins, waits for the file "release" and answers; it notes its own end.
func holdMCP(dir string) int {
	s := mcp.NewServer(&mcp.Implementation{Name: "holds", Version: "1"}, nil)
	note := func(name string) error { return os.WriteFile(filepath.Join(dir, name), nil, 0o600) }
	mcp.AddTool(s, &mcp.Tool{Name: "hold", Description: "waits"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		err := note("began")
		for err == nil {
			if _, serr := os.Stat(filepath.Join(dir, "release")); serr == nil {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "held"}}}, nil, nil
			}
			select {
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			case <-time.After(10 * time.Millisecond):
			}
		}
		return nil, nil, err
	})
	if s.Run(context.Background(), &mcp.StdioTransport{}) != nil || note("ended") != nil {
		return 1
	}
	return 0
}

// newFakeMCP has three tools, two of which say that they only read, and a resource.
func newFakeMCP() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1.2.3"}, nil)
	type none struct{}
	tool := func(name string, hints *mcp.ToolAnnotations) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: name, Annotations: hints},
			func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil, nil
			})
	}
	tool("look", &mcp.ToolAnnotations{ReadOnlyHint: true})
	tool("list", &mcp.ToolAnnotations{ReadOnlyHint: true})
	tool("write", nil)
	s.AddResource(&mcp.Resource{Name: "note", URI: "note://1"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "note://1", Text: "hello"}}}, nil
	})
	return s
}

// fakeMCP are the arguments of `mcp add` for a server of this binary.
func fakeMCP(t *testing.T, mode string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--command", self, "--env", fakeMCPMode + "=" + mode}
}

// fakeMCPYAML is jetclaw.yaml with servers of this binary, by name their mode.
func fakeMCPYAML(t *testing.T, modes map[string]string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("mcp:\n  servers:\n")
	for name, mode := range modes {
		fmt.Fprintf(&b, "    %s: {command: %q, env: {%s: %s}}\n", name, self, fakeMCPMode, mode)
	}
	return b.String()
}

// inJSON decodes what a command has printed.
func (r result) inJSON(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
		t.Fatalf("%v\nstdout: %s\nstderr: %s", err, r.stdout, r.stderr)
	}
	return v
}

// likeJSON fails the test unless a value is what a JSON text says.
func likeJSON(t *testing.T, got any, want string) {
	t.Helper()
	var w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	have, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, wanted) {
		t.Errorf("got  %s\nwant %s", have, wanted)
	}
}
