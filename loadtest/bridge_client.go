package main

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

	"github.com/jetclaw/jetclaw/loadtest/daemon"
	"github.com/jetclaw/jetclaw/loadtest/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/floor"
)

// sessionEra is the last version of the protocol that has sessions. The server over stdio speaks no later one, and the floor speaks
// the same.
const sessionEra = "2025-11-25"

func connect(ctx context.Context, t mcp.Transport) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "loadtest", Version: "1"}, nil)
	return c.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: sessionEra})
}

// stdioClient is a client and the server that it has started.
type stdioClient struct {
	*mcp.ClientSession

	server *daemon.Served
}

// caller is who calls jetclaw's MCP server.
type caller struct {
	binary string
	home   daemon.Home
	seen   uint64 // the cursor up to which it has polled
}

// overStdio starts a server of its own.
func (x *caller) overStdio(ctx context.Context) (*stdioClient, error) {
	served, err := daemon.ServeStdio(x.binary, x.home)
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, &mcp.IOTransport{Reader: served.Out, Writer: served.In})
	if err != nil {
		served.Kill()
		return nil, fmt.Errorf("connect to jetclaw mcp serve: %w", err)
	}
	return &stdioClient{s, served}, nil
}

// end is the usual end: the client closes the pipe.
func (c *stdioClient) end() error {
	_ = c.Close() // the server's own end says more
	return c.server.End(stopTime)
}

// web is how clients reach a server over HTTP.
type web struct {
	url   string
	token string // "" for none
	http  *http.Client
}

// webOf keeps as many connections as clients need.
func webOf(url, token string) web {
	w := web{url: url, token: token}
	w.http = &http.Client{Transport: bearer{token, &http.Transport{
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, MaxIdleConnsPerHost: 2 * mostSessions, IdleConnTimeout: time.Minute,
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

// mostSessions is a bound of the server: requests over HTTP with one token, of which each session has one open.
const mostSessions = 1000

// openTogether bounds the requests that come beside those that every open session has.
const openTogether = 16

// open opens sessions of their own; whoever calls it closes them by shut.
func (w web) open(ctx context.Context, n int) (all []*mcp.ClientSession, err error) {
	all = make([]*mcp.ClientSession, n)
	err = crews(ctx, n, openTogether, func(_ context.Context, i int) (err error) {
		// The context of a session is that of all of them: the crew's ends before.
		all[i], err = connect(ctx, &mcp.StreamableClientTransport{Endpoint: w.url, HTTPClient: w.http})
		return err
	})
	if err != nil {
		return nil, errors.Join(err, w.shut(ctx, all))
	}
	return all, nil
}

// shut closes sessions, as their clients do.
func (w web) shut(ctx context.Context, all []*mcp.ClientSession) error {
	err := crews(ctx, len(all), openTogether, func(_ context.Context, i int) error {
		if all[i] == nil {
			return nil
		}
		return all[i].Close()
	})
	w.http.CloseIdleConnections()
	return err
}

// overHTTP starts a server for many clients.
func (x *caller) overHTTP(ctx context.Context) (*daemon.Served, web, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTime, errors.New("it had its time"))
	defer cancel()
	s, err := daemon.ServeHTTP(ctx, x.binary, x.home)
	if err != nil {
		return nil, web{}, err
	}
	token, err := x.home.MCPToken()
	if err != nil {
		s.Kill()
		return nil, web{}, err
	}
	return s, webOf(s.URL, token), nil
}

// bareStdio is a client of a bare server of the SDK.
func bareStdio(ctx context.Context) (*mcp.ClientSession, error) {
	argv, err := peerArgv("--legacy")
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, &mcp.CommandTransport{Command: exec.CommandContext(ctx, argv[0], argv[1:]...)})
	if err != nil {
		return nil, fmt.Errorf("floor over stdio: %w", err)
	}
	return s, nil
}

// bareHTTP is a bare server of the SDK in a process of its own.
func bareHTTP(ctx context.Context) (*floor.WebChild, web, error) {
	c, err := floor.StartChild(ctx, fakemcp.Command, "--legacy", "--http", "127.0.0.1:0")
	if err != nil {
		return nil, web{}, err
	}
	return c, webOf(c.URL, ""), nil
}

type arguments map[string]any

// call has a tool called, and is an error when the tool fails.
func call(ctx context.Context, s *mcp.ClientSession, tool string, args arguments) (*mcp.CallToolResult, error) {
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

// answer has a tool called, and reads the structured part of what it says.
func answer[Told any](ctx context.Context, s *mcp.ClientSession, tool string, args arguments) (t Told, err error) {
	r, err := call(ctx, s, tool, args)
	if err != nil {
		return t, err
	}
	return structured[Told](r)
}

func structured[Told any](r *mcp.CallToolResult) (t Told, err error) {
	b, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	if err != nil {
		return t, fmt.Errorf("structured content of a result: %w", err)
	}
	return t, nil
}

// happened is an event as clients are told of it, as far as it matters here.
type happened struct {
	Cursor  uint64 `json:"cursor"`
	Type    string `json:"type"`
	Session string `json:"sessionKey"`
	Message string `json:"messageId"`
	Role    string `json:"role"`
	Text    string `json:"text"`
}

// polled is the answer of events_poll.
type polled struct {
	Events []happened      `json:"events"`
	Next   uint64          `json:"next_cursor"`
	More   bool            `json:"more"`
	Gap    json.RawMessage `json:"gap"`
}

const (
	pollMost    = 200
	pollTool    = "events_poll"
	waitTool    = "events_wait"
	listTool    = "conversations_list"
	readTool    = "messages_read"
	messageType = "message"
)

func poll(ctx context.Context, s *mcp.ClientSession, after uint64) (polled, error) {
	return answer[polled](ctx, s, pollTool, arguments{"after_cursor": after, "limit": pollMost})
}

// reach polls until a server has nothing more to tell, and is the cursor from which to go on.
func (x *caller) reach(ctx context.Context, s *mcp.ClientSession) (uint64, error) {
	if x.seen == 0 {
		p, err := answer[polled](ctx, s, pollTool, arguments{"limit": pollMost}) // from where the server has begun
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
