package bridge

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/services/internal/httpguard"
)

// Endpoint is the path of the MCP endpoint.
const Endpoint = "/mcp"

// HTTPConfig is how clients reach a bridge over HTTP (MCP's transport "Streamable HTTP").
type HTTPConfig struct {
	Listen string   // "host:port"
	Hosts  []string // further names in URLs of clients, for a proxy in front
	// Tokens is a file with bearer tokens: one a line, alone or as "NAME TOKEN". It is read again when it changes.
	Tokens string
}

const (
	headerTime   = 5 * time.Second
	idleTime     = 2 * time.Minute
	stallTime    = 20 * time.Second // for a client that does not read
	bodyTime     = 30 * time.Second
	unreadTime   = time.Second      // for a body before it is known who sends it
	sessionTime  = 30 * time.Minute // without a request
	drainTime    = 2 * time.Second
	maxHeader    = 16 << 10
	maxBody      = 4 << 20
	maxOpen      = 4096 // requests at a time
	maxOpenEach  = 2048 // of one token
	maxSessions  = 2048
	maxEach      = 1024         // of one token
	statelessEra = "2026-07-28" // from this version of the protocol on there are no sessions
	eraHeader    = "Mcp-Protocol-Version"
	idHeader     = "Mcp-Session-Id"
)

// ServeHTTP serves clients on a listener until ctx ends.
func (b *Bridge) ServeHTTP(ctx context.Context, l net.Listener, c HTTPConfig) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	handler, run, err := b.handler()
	if err != nil {
		return err
	}
	beside, end := context.WithCancel(context.WithoutCancel(ctx)) // it goes on while calls under way come to their end
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(beside)
	}()
	defer func() { end(); <-done }()
	server := &http.Server{
		Handler: b.guard(handler, c), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(b.log.Handler(), slog.LevelDebug), BaseContext: func(net.Listener) context.Context { return beside },
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		end, stop := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer stop()
		if server.Shutdown(end) != nil {
			_ = server.Close() // streams that wait for events have no end of their own
		}
	}()
	err = server.Serve(l)
	cancel()
	<-stopped
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve MCP on %s: %w", l.Addr(), err)
}

// handler answers the protocol, of both eras at one URL, and run is what has to run beside it. With run its sessions end, so that
// nothing may be asked any more by then.
func (b *Bridge) handler() (h http.Handler, run func(context.Context), err error) {
	s, keep, err := b.serverOf(options{})
	if err != nil {
		return nil, nil, err
	}
	lives := newLives()
	s.AddReceivingMiddleware(lives.bound)
	server := func(*http.Request) *mcp.Server { return s }
	const named = true // the guard has looked at the name already, and knows that of a proxy on this machine
	stateful := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		Logger: b.protocol, SessionTimeout: sessionTime, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: named,
	})
	stateless := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		Logger: b.protocol, Stateless: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true, DisableLocalhostProtection: named,
	})
	h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(idHeader)
		switch {
		case isBatch(r):
			http.Error(w, "batches are not supported: send one message a request", http.StatusBadRequest)
			return
		case r.Header.Get(eraHeader) >= statelessEra:
			stateless.ServeHTTP(w, r)
			return
		case r.Method == http.MethodDelete:
			lives.end(id) // the SDK waits for its calls
		case r.Method == http.MethodPost && id == "":
			if why := lives.full(s, userOf(r)); why != "" {
				http.Error(w, why, http.StatusServiceUnavailable)
				return
			}
			stateful.ServeHTTP(w, r)
			lives.begin(w.Header().Get(idHeader), userOf(r))
			return
		}
		stateful.ServeHTTP(w, r)
	})
	return h, func(ctx context.Context) {
		keep(ctx)
		lives.endAll()
		for session := range s.Sessions() {
			_ = session.Close() // its client has been cut off already
		}
	}, nil
}

// userOf is whose token a request has, as the guard has seen; "" where there is none.
func userOf(r *http.Request) string {
	if info := auth.TokenInfoFromContext(r.Context()); info != nil {
		return info.UserID
	}
	return ""
}

// isBatch says whether a body is a list of messages: one request could ask for anything any number of times.
func isBatch(r *http.Request) bool {
	if r.Body == nil {
		return false
	}
	body := bufio.NewReader(r.Body)
	defer func() { r.Body = peeked{body, r.Body} }()
	for {
		c, err := body.ReadByte()
		if err != nil || !strings.ContainsRune(" \t\r\n", rune(c)) {
			if err == nil {
				_ = body.UnreadByte() // of the byte that was just read
			}
			return err == nil && c == '['
		}
	}
}

// peeked is a body of which the beginning was looked at.
type peeked struct {
	io.Reader
	io.Closer
}

// guard is the one way in: name, origin, number, token, then the protocol.
func (b *Bridge) guard(next http.Handler, c HTTPConfig) http.Handler {
	hosts := httpguard.NewHosts(c.Listen, c.Hosts...)
	tokens := httpguard.NewTokens(httpguard.FileTokens(c.Tokens))
	all, each := httpguard.NewSlots(maxOpen, 0), httpguard.NewSlots(maxOpen, maxOpenEach)
	known := auth.RequireBearerToken(func(_ context.Context, token string, r *http.Request) (*auth.TokenInfo, error) {
		name, err := tokens.Caller(r)
		if err != nil {
			if !errors.Is(err, httpguard.ErrToken) {
				b.log.Error("nobody is let in", "error", err)
			}
			return nil, fmt.Errorf("%w: %w", auth.ErrInvalidToken, httpguard.ErrToken)
		}
		sum := sha256.Sum256([]byte(token)) // a session is its token's: with another one it is refused
		return &auth.TokenInfo{UserID: name + "/" + hex.EncodeToString(sum[:8])}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true, Scopes: nil})
	inner := known(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leave, err := each.Enter(auth.TokenInfoFromContext(r.Context()).UserID)
		if err != nil {
			http.Error(w, err.Error(), http.StatusTooManyRequests)
			return
		}
		defer leave()
		w.Header().Del("WWW-Authenticate")
		unhurried(w, r)
		httpguard.Stalled(next, stallTime).ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 { // net/http waits for a body that nobody has asked for
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadTime)) // a server of net/http can
		}
		switch {
		case !hosts.Host(r.Host):
			http.Error(w, "unknown Host: use localhost or 127.0.0.1, or name it with --host", http.StatusForbidden)
		case !hosts.Origin(r):
			http.Error(w, "this Origin may not use the server", http.StatusForbidden)
		case r.URL.Path != Endpoint:
			http.Error(w, "there is nothing at this path: the MCP endpoint is "+Endpoint, http.StatusNotFound)
		default:
			leave, err := all.Enter("")
			if err != nil {
				http.Error(w, err.Error(), http.StatusTooManyRequests)
				return
			}
			defer leave()
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("WWW-Authenticate", `Bearer realm="jetclaw"`)
			inner.ServeHTTP(w, r)
		}
	})
}

// unhurried gives a body of somebody who is known its time, and none to what follows: a call may wait.
func unhurried(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	if r.ContentLength == 0 {
		return
	}
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // a server of net/http can
	r.Body = &timed{ReadCloser: r.Body, read: func() { _ = rc.SetReadDeadline(time.Time{}) }}
}

// timed tells when a body was read.
type timed struct {
	io.ReadCloser
	read func()
}

func (t *timed) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		t.read()
	}
	return n, err
}
