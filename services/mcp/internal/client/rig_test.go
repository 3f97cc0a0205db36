package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// options are those of a stdio server.
func options(open func(context.Context) (client.Pipe, error)) client.Options {
	return client.Options{Server: "s", Definition: definition.Definition{Command: "x"}, Open: open, Client: "1", Log: slog.New(slog.DiscardHandler)}
}

func connect(t *testing.T, o client.Options) *client.Session {
	t.Helper()
	s, err := client.Connect(t.Context(), o)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { closed(t, s) })
	return s
}

// closed closes a session and wants nothing left of it. It is a cleanup: the test's context has ended.
func closed(t *testing.T, s *client.Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

// pipes are the two ends of a stdio server.
func pipes() (ours, theirs client.Pipe) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	return client.Pipe{Reader: r1, Writer: w2}, client.Pipe{Reader: r2, Writer: w1}
}

// behind is a server of the SDK behind pipes.
func behind(server *mcp.Server) func(context.Context) (client.Pipe, error) {
	return func(context.Context) (client.Pipe, error) {
		ours, theirs := pipes()
		_, err := server.Connect(context.Background(), &mcp.IOTransport{Reader: theirs.Reader, Writer: theirs.Writer}, nil)
		return ours, err
	}
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// peer is a hand-written server: what it does is its script.
type peer struct {
	client.Pipe
	mu  sync.Mutex
	log []string // methods
}

func (p *peer) say(line string) { _, _ = io.WriteString(p.Writer, line+"\n") }

func (p *peer) answer(m message, result string) {
	p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
}

func (p *peer) refuse(m message, code int, text string) {
	p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, m.ID, code, text))
}

const hello = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"old","version":"0.1"},"instructions":"be\nkind"}`

// greet answers as a server of the older era; it says whether that was all.
func (p *peer) greet(m message) bool {
	switch m.Method {
	case "server/discover":
		p.refuse(m, -32601, "method not found")
	case "initialize":
		p.answer(m, hello)
	case "notifications/initialized":
	default:
		return false
	}
	return true
}

// scripted starts peers. script is called for each message, in order, with the number of the process.
func scripted(starts *atomic.Int32, script func(n int, p *peer, m message)) func(context.Context) (client.Pipe, error) {
	return func(context.Context) (client.Pipe, error) {
		ours, theirs := pipes()
		n := int(starts.Add(1))
		p := &peer{Pipe: theirs}
		go func() {
			defer theirs.Writer.Close()
			in := bufio.NewScanner(theirs.Reader)
			in.Buffer(nil, 1<<20)
			for in.Scan() {
				var m message
				if json.Unmarshal(in.Bytes(), &m) != nil {
					return
				}
				p.mu.Lock()
				p.log = append(p.log, m.Method)
				p.mu.Unlock()
				script(n, p, m)
			}
		}()
		return ours, nil
	}
}

func newServer(o *mcp.ServerOptions) *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "real", Version: "2"}, o)
}

// tool adds a tool without a schema worth mentioning.
func tool(s *mcp.Server, name string, run mcp.ToolHandler) {
	s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, run)
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func textOf(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%d contents", len(r.Content))
	}
	c, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content %T", r.Content[0])
	}
	return c.Text
}
