// Package caller is an MCP client of jetclaw (jetclaw mcp serve), over stdio and HTTP, beside one of a bare server of the SDK.
package caller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/loadtest/figure/floor"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

// SessionEra is the last version of the protocol that has sessions. The server over stdio speaks no later one, and the floor speaks
// the same.
const SessionEra = "2025-11-25"

func connect(ctx context.Context, t mcp.Transport) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "loadtest", Version: "1"}, nil)
	return c.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: SessionEra})
}

// Stdio is a client and the server that it has started.
type Stdio struct {
	*mcp.ClientSession

	Server *daemon.Served
}

// Caller is who calls jetclaw's MCP server.
type Caller struct {
	Binary string
	Home   daemon.Home
	seen   uint64 // the cursor up to which it has polled
}

// OverStdio starts a server of its own.
func (x *Caller) OverStdio(ctx context.Context) (*Stdio, error) {
	served, err := daemon.ServeStdio(x.Binary, x.Home)
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, &mcp.IOTransport{Reader: served.Out, Writer: served.In})
	if err != nil {
		served.Kill()
		return nil, fmt.Errorf("connect to jetclaw mcp serve: %w", err)
	}
	return &Stdio{s, served}, nil
}

// End is the usual end: the client closes the pipe.
func (c *Stdio) End() error {
	_ = c.Close() // the server's own end says more
	return c.Server.End(bench.StopTime)
}

// Web is how clients reach a server over HTTP.
type Web struct {
	URL   string
	Token string // "" for none
	HTTP  *http.Client
}

// webOf keeps as many connections as clients need.
func webOf(url, token string) Web {
	w := Web{URL: url, Token: token}
	w.HTTP = &http.Client{Transport: bearer{token, &http.Transport{
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, MaxIdleConnsPerHost: 2 * MostSessions, IdleConnTimeout: time.Minute,
	}}}
	return w
}

type bearer struct {
	token string
	next  *http.Transport
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}

// CloseIdleConnections is what http.Client looks for.
func (b bearer) CloseIdleConnections() { b.next.CloseIdleConnections() }

// MostSessions is a bound of the server: requests over HTTP with one token, of which each session has one open.
const MostSessions = 1000

// openTogether bounds the requests that come beside those that every open session has.
const openTogether = 16

// Open opens sessions of their own; whoever calls it closes them by shut.
func (w Web) Open(ctx context.Context, n int) (all []*mcp.ClientSession, err error) {
	all = make([]*mcp.ClientSession, n)
	err = pace.Crews(ctx, n, openTogether, func(_ context.Context, i int) (err error) {
		// The context of a session is that of all of them: the crew's ends before.
		all[i], err = connect(ctx, &mcp.StreamableClientTransport{Endpoint: w.URL, HTTPClient: w.HTTP})
		return err
	})
	if err != nil {
		return nil, errors.Join(err, w.Shut(ctx, all))
	}
	return all, nil
}

// Shut closes sessions, as their clients do.
func (w Web) Shut(ctx context.Context, all []*mcp.ClientSession) error {
	err := pace.Crews(ctx, len(all), openTogether, func(_ context.Context, i int) error {
		if all[i] == nil {
			return nil
		}
		return all[i].Close()
	})
	w.HTTP.CloseIdleConnections()
	return err
}

// OverHTTP starts a server for many clients.
func (x *Caller) OverHTTP(ctx context.Context) (*daemon.Served, Web, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, bench.ReadyTime, errors.New("it had its time"))
	defer cancel()
	s, err := daemon.ServeHTTP(ctx, x.Binary, x.Home)
	if err != nil {
		return nil, Web{}, err
	}
	token, err := x.Home.MCPToken()
	if err != nil {
		s.Kill()
		return nil, Web{}, err
	}
	return s, webOf(s.URL, token), nil
}

// BareStdio is a client of a bare server of the SDK.
func BareStdio(ctx context.Context) (*mcp.ClientSession, error) {
	argv, err := peer.Argv("--legacy")
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, &mcp.CommandTransport{Command: exec.CommandContext(ctx, argv[0], argv[1:]...)})
	if err != nil {
		return nil, fmt.Errorf("floor over stdio: %w", err)
	}
	return s, nil
}

// BareHTTP is a bare server of the SDK in a process of its own.
func BareHTTP(ctx context.Context) (*floor.WebChild, Web, error) {
	c, err := floor.StartChild(ctx, fakemcp.Command, "--legacy", "--http", "127.0.0.1:0")
	if err != nil {
		return nil, Web{}, err
	}
	return c, webOf(c.URL, ""), nil
}

// Arguments of a tool.
type Arguments map[string]any

// Call has a tool called, and is an error when the tool fails.
func Call(ctx context.Context, s *mcp.ClientSession, tool string, args Arguments) (*mcp.CallToolResult, error) {
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tool, err)
	}
	if r.IsError {
		b, err := json.Marshal(r.Content)
		return nil, errors.Join(fmt.Errorf("%s has failed: %.500s", tool, b), err)
	}
	return r, nil
}

// Answer has a tool called, and reads the structured part of what it says.
func Answer[Told any](ctx context.Context, s *mcp.ClientSession, tool string, args Arguments) (t Told, err error) {
	r, err := Call(ctx, s, tool, args)
	if err != nil {
		return t, err
	}
	return Structured[Told](r)
}

// Structured reads the structured part of a result.
func Structured[Told any](r *mcp.CallToolResult) (t Told, err error) {
	b, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	if err != nil {
		return t, fmt.Errorf("structured content of a result: %w", err)
	}
	return t, nil
}

// Happened is an event as clients are told of it, as far as it matters here.
type Happened struct {
	Cursor  uint64 `json:"cursor"`
	Type    string `json:"type"`
	Session string `json:"sessionKey"`
	Message string `json:"messageId"`
	Role    string `json:"role"`
	Text    string `json:"text"`
}

// Polled is the answer of events_poll.
type Polled struct {
	Events []Happened      `json:"events"`
	Next   uint64          `json:"next_cursor"`
	More   bool            `json:"more"`
	Gap    json.RawMessage `json:"gap"`
}

const (
	PollMost    = 200
	PollTool    = "events_poll"
	WaitTool    = "events_wait"
	ListTool    = "conversations_list"
	ReadTool    = "messages_read"
	MessageType = "message"
)

func poll(ctx context.Context, s *mcp.ClientSession, after uint64) (Polled, error) {
	return Answer[Polled](ctx, s, PollTool, Arguments{"after_cursor": after, "limit": PollMost})
}

// Reach polls until a server has nothing more to tell, and is the cursor from which to go on.
func (x *Caller) Reach(ctx context.Context, s *mcp.ClientSession) (uint64, error) {
	if x.seen == 0 {
		p, err := Answer[Polled](ctx, s, PollTool, Arguments{"limit": PollMost}) // from where the server has begun
		if err != nil {
			return 0, err
		}
		x.seen = p.Next
	}
	for {
		p, err := poll(ctx, s, x.seen)
		if err != nil {
			return 0, err
		}
		if x.seen = p.Next; !p.More {
			return x.seen, nil
		}
	}
}
