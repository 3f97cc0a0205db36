package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Config says what is answered, and where. All but Hosts is required.
type Config struct {
	Listen    string   // host:port; without a host: every interface
	Hosts     []string // further names that requests may be for, without ports
	Readiness *Readiness
	Metrics   func(io.Writer) error
	Log       *slog.Logger
}

// Server is the listener, as a module.
type Server struct {
	listener net.Listener
	http     *http.Server
	what     string
}

// Timeouts and bounds of the listeners.
const (
	readTime  = 5 * time.Second
	writeTime = 30 * time.Second
	idleTime  = 2 * time.Minute
	endTime   = 2 * time.Second
	maxHeader = 16 << 10
	maxOpen   = 16 // requests that are answered at a time
)

// Listen opens the address. Run serves it.
func Listen(ctx context.Context, c Config) (*Server, error) {
	if c.Readiness == nil || c.Metrics == nil || c.Log == nil {
		return nil, errors.New("a monitor needs modules to ask, metrics and a logger")
	}
	if err := CheckAddress(c.Listen); err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("monitor: %w; choose another address (--monitor, monitor.listen)", err)
	}
	return &Server{listener: l, http: serverOf(guard(c.Listen, c.Hosts, handler(c)), c.Log), what: "monitor"}, nil
}

func serverOf(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: readTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// Addr is where it listens.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(s.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("%s: %w", s.what, err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if err := s.http.Shutdown(end); err != nil {
		_ = s.http.Close() // somebody reads slowly: nothing is lost with them
	}
	<-served
	return nil
}

// Ready returns at once: it listens already.
func (s *Server) Ready(context.Context) error { return nil }

// Close gives the address back; for one that was never run.
func (s *Server) Close() error { return s.listener.Close() }

// CheckAddress says what is wrong with an address to listen on.
func CheckAddress(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return fmt.Errorf("%q is no address; 127.0.0.1:9464, or :9464 for every interface", addr)
	}
	return nil
}

// Loopback says whether an address is of this machine only.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

func handler(c Config) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		report := c.Readiness.Ask(r.Context())
		status := http.StatusOK
		if !report.Ready {
			status = http.StatusServiceUnavailable
		}
		answer(w, status, report)
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		if err := c.Metrics(w); err != nil {
			c.Log.Debug("metrics not written", "error", err)
		}
	})
	return mux
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // whoever asked has gone
}

// guard lets in who may read: see the package comment.
func guard(listen string, hosts []string, next http.Handler) http.Handler {
	own := slices.Clone(hosts)
	if host, _, err := net.SplitHostPort(listen); err == nil && host != "" {
		own = append(own, host)
	}
	open := make(chan struct{}, maxOpen)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		switch {
		case !known(r.Host, own):
			http.Error(w, "this is none of my names; monitor.hosts adds one", http.StatusMisdirectedRequest)
			return
		case !sameSite(r, own):
			http.Error(w, "not for web pages", http.StatusForbidden)
			return
		}
		select {
		case open <- struct{}{}:
			defer func() { <-open }()
			next.ServeHTTP(w, r)
		default:
			http.Error(w, "too many requests are open", http.StatusTooManyRequests)
		}
	})
}

// known says whether a name in a request is one that no stranger can point here.
func known(host string, own []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(strings.TrimSuffix(host, "."), "[]"))
	if host == "" {
		return false
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") ||
		slices.ContainsFunc(own, func(name string) bool { return strings.EqualFold(name, host) })
}

// sameSite says whether no web page of somebody else asks.
func sameSite(r *http.Request, own []string) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return false
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host || !known(u.Host, own) {
			return false
		}
	}
	return true
}
