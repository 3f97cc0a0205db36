package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10 // bytes
	maxRequests   = 256      // at a time
)

// port is a listener for the webhooks of one or more bots.
type port struct {
	addr     string
	listener net.Listener
	server   *http.Server
	hooks    map[string]*hook // by path
	open     chan struct{}    // a slot for each request
}

func newPort(addr string, log *slog.Logger, pace Pace) *port {
	return &port{
		addr: addr, hooks: map[string]*hook{}, open: make(chan struct{}, maxRequests),
		server: &http.Server{
			ReadHeaderTimeout: headerTimeout,
			WriteTimeout:      headerTimeout + pace.Body + pace.Durable + 10*time.Second,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeader,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		},
	}
}

func (p *port) listen(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fault.New(fault.Conflict, "channels.telegram: the webhook's address %s is taken by another process: stop it, or choose another", p.addr)
	}
	if err != nil {
		return fault.New(fault.Unavailable, "channels.telegram: webhook at %s: %w", p.addr, err)
	}
	p.listener = l
	return nil
}

// serve answers until drain. ctx is that of Run.
func (p *port) serve(ctx context.Context) error {
	p.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := p.hooks[r.URL.Path]
		if h == nil {
			refuse(w, http.StatusNotFound)
			return
		}
		select {
		case p.open <- struct{}{}:
			defer func() { <-p.open }()
		default:
			refuse(w, http.StatusServiceUnavailable)
			return
		}
		h.serve(ctx, w, r)
	})
	if err := p.server.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve webhooks on %s: %w", p.addr, err)
	}
	return nil
}

// drain takes nothing more, and waits for the requests that are open: they end with ctx of serve.
func (p *port) drain(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_ = p.server.Shutdown(ctx) // whatever it says: what is left is cut
	_ = p.server.Close()
}
