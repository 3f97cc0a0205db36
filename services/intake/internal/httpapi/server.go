package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/internal/httpguard"
)

// Desk takes messages in and tells what became of them.
type Desk interface {
	Submit(ctx context.Context, r wire.Request) (wire.Receipt, error)
	Reply(ctx context.Context, r wire.ReplyRequest) (wire.Reply, error)
}

// Docket tells of approvals, whoever asks: what a caller may know of them is seen to here.
type Docket interface {
	Approval(ctx context.Context, id string) (wire.Approval, error)
	Approvals(ctx context.Context, s session.ID) (wire.Approvals, error) // open ones; "": of all sessions
}

// Feed is the journal and the live deltas as a stream of events follows them.
type Feed interface {
	Journal() *bus.Journal
	Follow(ctx context.Context, o bus.ReplayOptions, fn func(envelope.Event) error) error
	SubscribeLive(ctx context.Context, s session.ID, fn func(data []byte)) error
}

const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 30 * time.Second
	unreadTimeout = time.Second // for a body that nobody asked for: net/http waits for it before it answers
	answerTimeout = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10 // bytes
	maxOpen       = 4096     // requests at a time, waiting ones included
	maxBig        = 16       // bodies above smallBody at a time
	smallBody     = 64 << 10 // bytes
)

// Server is the HTTP channel. Its requests end by themselves, soon when draining is closed.
type Server struct {
	desk     Desk
	docket   Docket
	feed     Feed
	log      *slog.Logger
	config   Config
	callers  httpguard.Tokens
	hosts    httpguard.Hosts
	maxBody  int64
	draining <-chan struct{}
	open     *httpguard.Slots
	big      chan struct{} // a slot for each big body
	conns    *connections
	http     *http.Server
}

// New makes a server. maxText is the largest text in bytes that the gate takes; requests end when draining is closed.
func New(c Config, desk Desk, docket Docket, feed Feed, log *slog.Logger, maxText int, draining <-chan struct{}) (*Server, error) {
	if desk == nil || docket == nil || feed == nil || log == nil || draining == nil {
		return nil, errors.New("the HTTP channel needs a desk, a docket, a feed, a logger and a way to stop")
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Stall == 0 {
		c.Stall = DefaultConfig().Stall
	}
	if c.DecisionWait == 0 {
		c.DecisionWait = DefaultConfig().DecisionWait
	}
	s := &Server{
		desk: desk, docket: docket, feed: feed, log: log, config: c,
		callers: callersOf(c.Tokens), hosts: hostsOf(c.Listen, c.Hosts),
		// JSON may write a byte as \u00XX, and a text a little over the limit is to be refused by the gate, on record.
		maxBody:  6*int64(maxText) + smallBody,
		draining: draining,
		open:     httpguard.NewSlots(maxOpen, 0), // one caller is as many programs as hold its token
		big:      make(chan struct{}, maxBig),
		conns:    newConnections(),
	}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: headerTimeout,
		// No ReadTimeout: it would end the long polls. Bodies have a deadline of their own.
		WriteTimeout:   wire.MaxWait + answerTimeout,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHeader,
		ConnState:      s.conns.changed,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	if c.Certificate != "" {
		var err error
		if s.http.TLSConfig, err = httpguard.TLS(c.Certificate, c.Key); err != nil {
			return nil, fmt.Errorf("channels.http.tls: %w", err)
		}
	}
	return s, nil
}

// Listen takes the address; Serve has to follow.
func (s *Server) Listen(ctx context.Context) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.config.Listen)
	if err == nil {
		return l, nil
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return nil, fault.New(fault.Unavailable, "channels.http.listen %s: %w", s.config.Listen, err)
	}
	who := ""
	if s.config.Holder != nil {
		who = s.config.Holder(s.config.Listen)
	}
	if who == "" {
		who = "another process (`ss -ltnp` or `lsof -i` names it)"
	}
	return nil, fault.New(fault.Conflict, "channels.http.listen %s is taken by %s: stop it, or choose another address", s.config.Listen, who)
}

// Serve answers until Shutdown.
func (s *Server) Serve(l net.Listener) error {
	serve := s.http.Serve
	if s.http.TLSConfig != nil {
		serve = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	if err := serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http on %s: %w", l.Addr(), err)
	}
	return nil
}

// serve is the one way in: limits, host, route, token, handler.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if v := recover(); v != nil {
			s.panicked(w, r, v)
		}
	}()
	if r.ContentLength != 0 { // postMessage gives it more time
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadTimeout)); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	if !s.knownHost(r.Host) {
		s.failWith(w, http.StatusMisdirectedRequest, problem{
			Error: "unknown Host: use localhost or 127.0.0.1, or a name of channels.http.hosts", Kind: fault.Denied,
		})
		return
	}
	leave, err := s.open.Enter("")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer leave()
	rt, arg, allow := find(r.Method, r.URL.Path)
	switch {
	case rt != nil:
	case len(allow) == 0:
		s.failWith(w, http.StatusNotFound, problem{Error: "there is nothing at this path", Kind: fault.NotFound})
		return
	default:
		w.Header().Set("Allow", strings.Join(allow, ", "))
		s.failWith(w, http.StatusMethodNotAllowed, problem{Error: "use " + strings.Join(allow, " or "), Kind: fault.Invalid})
		return
	}
	var who caller
	if !rt.public {
		var ok bool
		if who, ok = s.authenticate(r); !ok {
			w.Header().Set("WWW-Authenticate", `Bearer realm="jetclaw"`)
			s.failWith(w, http.StatusUnauthorized, problem{Error: httpguard.ErrToken.Error(), Kind: fault.Denied})
			return
		}
	}
	rt.handle(s, w, r, who, arg)
}

// panicked keeps a panic of one request from ending the process, and says so loudly.
func (s *Server) panicked(w http.ResponseWriter, r *http.Request, v any) {
	if v == http.ErrAbortHandler { //nolint:errorlint,err113 // the value that net/http documents
		panic(v)
	}
	s.log.Error("http request panicked", "method", r.Method, "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
	s.failWith(w, http.StatusInternalServerError, problem{Error: "internal error: the log of the daemon has it", Kind: fault.Internal})
}
