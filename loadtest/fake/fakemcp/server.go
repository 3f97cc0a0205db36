package fakemcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options of a server.
type Options struct {
	Ledger Ledger
	Legacy bool   // it does not speak the stateless era of 2026-07-28
	More   int    // further tools
	Crash  func() // ends the process; nil: the calls of crash hang
}

// stateless is the first version of the protocol without sessions.
const stateless = "2026-07-28"

// legacy are the versions with sessions.
func legacy() (versions []string) {
	for _, v := range mcp.SupportedProtocolVersions() {
		if v < stateless {
			versions = append(versions, v)
		}
	}
	return versions
}

// build makes a server; hanging calls end with ended.
func build(o Options, ended <-chan struct{}) *mcp.Server {
	if o.Crash == nil {
		o.Crash = func() {}
	}
	so := &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}, Instructions: "A server for tests."}
	if o.Legacy {
		so.SupportedProtocolVersions = legacy()
	}
	t := &tools{o: o, ended: ended, waiting: newRoom(), kept: map[string]string{}}
	t.server = mcp.NewServer(&mcp.Implementation{Name: "fakemcp", Version: "1"}, so)
	t.add()
	return t.server
}

// Serve speaks over a pair of pipes until in ends.
func Serve(ctx context.Context, o Options, in io.ReadCloser, out io.WriteCloser) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := build(o, ctx.Done()).Run(ctx, &mcp.IOTransport{Reader: &announced{ReadCloser: in, ended: cancel}, Writer: out})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil // whoever started this has gone
	}
	return err
}

// announced tells that a reader has ended: the SDK waits for calls that hang, which wait for that.
type announced struct {
	io.ReadCloser
	ended func()
}

func (a *announced) Read(b []byte) (int, error) {
	n, err := a.ReadCloser.Read(b)
	if err != nil {
		a.ended()
	}
	return n, err
}

// Server is one that speaks Streamable HTTP.
type Server struct {
	http  http.Server
	mcp   *mcp.Server
	url   string
	end   func()
	done  chan struct{}
	asked sync.Map // version of the protocol → that somebody has asked in it
}

// Start listens on addr and serves until Close. Both eras are served at one address, by what a request says.
func Start(addr string, o Options) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("fake MCP server: %w", err)
	}
	ended := make(chan struct{})
	s := &Server{url: "http://" + l.Addr().String() + "/mcp", end: sync.OnceFunc(func() { close(ended) }), done: make(chan struct{})}
	server := build(o, ended)
	s.mcp = server
	get := func(*http.Request) *mcp.Server { return server }
	old := mcp.NewStreamableHTTPHandler(get, nil)
	young := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	s.http.ReadHeaderTimeout = 10 * time.Second
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version := r.Header.Get("Mcp-Protocol-Version")
		s.asked.Store(version, true)
		if version >= stateless && !o.Legacy {
			young.ServeHTTP(w, r)
			return
		}
		old.ServeHTTP(w, r)
	})
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // always ErrServerClosed after Close
	}()
	return s, nil
}

// URL is the endpoint.
func (s *Server) URL() string { return s.url }

// Spoken says whether anybody has asked in a version of the protocol.
func (s *Server) Spoken(version string) bool {
	_, ok := s.asked.Load(version)
	return ok
}

// Close ends the server, in the middle of whatever it does.
func (s *Server) Close() {
	s.end()
	_ = s.http.Close()
	<-s.done
	for session := range s.mcp.Sessions() {
		_ = session.Close() // nobody is there to say goodbye to
	}
}
