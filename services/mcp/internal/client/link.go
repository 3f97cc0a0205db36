package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// Pipe is an opened stdio server. Both closers may be called more than once and side by side. That the process ends is up to who
// has opened it: it may be given up while it is being opened.
type Pipe struct {
	Reader io.ReadCloser
	Writer io.WriteCloser
}

// link is one connection, as a transport for the SDK, which is given no chance to lose it: whatever it does, abort ends all.
type link struct {
	open  func(context.Context) (Pipe, error) // nil: HTTP
	sse   bool
	url   string
	http  *http.Client
	tied  *leash // of the requests of http
	flood *flood

	mu      sync.Mutex
	aborted bool
	pipe    Pipe
	conn    mcp.Connection
}

func newLink(o Options) (*link, error) {
	l := &link{open: o.Open, url: o.Definition.URL, sse: o.Definition.Transport == definition.SSE, tied: newLeash(), flood: newFlood()}
	if o.Definition.URL == "" {
		if l.open == nil {
			return nil, errors.New("the server has neither a command nor a url")
		}
		return l, nil
	}
	client, err := newHTTP(o, l.tied, l.flood)
	if err != nil {
		return nil, err
	}
	l.open, l.http = nil, client
	return l, nil
}

// Connect is called by the SDK, once.
func (l *link) Connect(ctx context.Context) (mcp.Connection, error) {
	inner, err := l.transport(ctx)
	if err != nil {
		return nil, err
	}
	dial, release := ctx, context.CancelCauseFunc(func(error) {})
	if l.sse {
		// The stream lives as long as the context that it was asked for with: ctx ends when the connection stands.
		dial, release = l.tied.tie(context.WithoutCancel(ctx))
	}
	conn, err := inner.Connect(dial)
	if err != nil {
		release(err)
		return nil, err
	}
	if l.http == nil || l.sse {
		conn = &wire{Connection: conn, release: release, flood: l.flood} // Streamable HTTP has to be the SDK's own type: see screen.go
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.aborted {
		go func() { _ = conn.Close() }()
		return nil, ErrClosed
	}
	l.conn = conn
	return conn, nil
}

func (l *link) transport(ctx context.Context) (mcp.Transport, error) {
	switch {
	case l.sse:
		return &mcp.SSEClientTransport{Endpoint: l.url, HTTPClient: l.http, MaxEventSize: maxAnswer}, nil
	case l.http != nil:
		return &mcp.StreamableClientTransport{Endpoint: l.url, HTTPClient: l.http, MaxEventSize: maxAnswer}, nil
	}
	pipe, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.aborted {
		go closePipe(pipe)
		return nil, ErrClosed
	}
	l.pipe = pipe
	return &mcp.IOTransport{Reader: pipe.Reader, Writer: pipe.Writer, MaxLineLength: maxAnswer}, nil
}

// abort ends the connection, whatever hangs in it. It may be called more than once.
func (l *link) abort() {
	l.mu.Lock()
	l.aborted = true
	conn, pipe := l.conn, l.pipe
	l.mu.Unlock()
	l.tied.end(ErrClosed)
	closePipe(pipe) // before the connection: its Close waits for a write that hangs
	if conn != nil {
		_ = conn.Close() // it has no goodbye to fail with: what it sends has been ended
	}
	if l.http != nil {
		l.http.CloseIdleConnections()
	}
}

func closePipe(p Pipe) {
	if p.Writer != nil {
		p.Writer.Close()
	}
	if p.Reader != nil {
		p.Reader.Close()
	}
}

// ours begins the names of methods that the SDK knows, and that we send ourselves: it refuses to be gone round under their own
// names. The prefix is taken off on the way out.
const ours = "jetclaw/"

// wire is a connection of stdio or SSE.
type wire struct {
	mcp.Connection
	release context.CancelCauseFunc
	flood   *flood
}

// Read says of an error that it is the end of the connection: the SDK hands it to each request under way.
func (w *wire) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := w.Connection.Read(ctx)
		if err != nil {
			return nil, &brokenError{err}
		}
		if req, ok := msg.(*jsonrpc.Request); !ok || w.flood.pass(req.Method, req.IsCall(), len(req.Params)) {
			return msg, nil
		}
	}
}

func (w *wire) Write(ctx context.Context, msg jsonrpc.Message) error {
	if _, ok := msg.(*jsonrpc.Response); ok {
		defer w.flood.answered()
	}
	return w.Connection.Write(ctx, plain(msg))
}

func (w *wire) Close() error {
	w.release(ErrClosed)
	return w.Connection.Close()
}

// plain is a message under its real name.
func plain(msg jsonrpc.Message) jsonrpc.Message {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !strings.HasPrefix(req.Method, ours) {
		return msg
	}
	sent := *req
	sent.Method = strings.TrimPrefix(req.Method, ours)
	return &sent
}
