package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
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
	sessionTime  = 30 * time.Minute // without a request
	drainTime    = 2 * time.Second
	maxHeader    = 16 << 10
	maxBody      = 4 << 20
	maxOpen      = 2048 // requests at a time
	maxOpenEach  = 1024 // of one token
	maxSessions  = 1024
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
	over, end := context.WithCancel(context.Background())
	s.AddReceivingMiddleware(until(over))
	server := func(*http.Request) *mcp.Server { return s }
	const named = true // the guard has looked at the name already, and knows that of a proxy on this machine
	stateful := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		Logger: b.protocol, SessionTimeout: sessionTime, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: named,
	})
	stateless := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		Logger: b.protocol, Stateless: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true, DisableLocalhostProtection: named,
	})
	h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(eraHeader) >= statelessEra {
			stateless.ServeHTTP(w, r)
			return
		}
		if r.Method == http.MethodPost && r.Header.Get(idHeader) == "" && count(s) >= maxSessions {
			http.Error(w, fmt.Sprintf("%d sessions are open: end one, or try again later", maxSessions), http.StatusServiceUnavailable)
			return
		}
		stateful.ServeHTTP(w, r)
	})
	return h, func(ctx context.Context) {
		keep(ctx)
		end()
		for session := range s.Sessions() {
			_ = session.Close() // its client has been cut off already
		}
	}, nil
}

// until ends calls under way with a context: they live as long as their session, which waits for them before it closes.
func until(over context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			stop := context.AfterFunc(over, cancel)
			defer stop()
			return next(ctx, method, r)
		}
	}
}

func count(s *mcp.Server) int {
	n := 0
	for range s.Sessions() {
		n++
	}
	return n
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
		sum := sha256.Sum256([]byte(token)) // a session is its token's: with another one it is not found
		return &auth.TokenInfo{UserID: name + "/" + hex.EncodeToString(sum[:8])}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true, Scopes: nil})
	inner := known(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leave, err := each.Enter(auth.TokenInfoFromContext(r.Context()).UserID)
		if err != nil {
			http.Error(w, err.Error(), http.StatusTooManyRequests)
			return
		}
		defer leave()
		httpguard.Stalled(next, stallTime).ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
			inner.ServeHTTP(w, r)
		}
	})
}
