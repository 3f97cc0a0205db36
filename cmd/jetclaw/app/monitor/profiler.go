package monitor

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
)

// Profiler opens the listener of the Go profiler (/debug/pprof/). A profile shows memory, and so secrets: an address that is not
// loopback is refused.
func Profiler(ctx context.Context, listen string, log *slog.Logger) (*Server, error) {
	if err := CheckAddress(listen); err != nil {
		return nil, fmt.Errorf("pprof: %w", err)
	}
	if !Loopback(listen) {
		return nil, fmt.Errorf("pprof: %q is not loopback: a profile shows the memory of the process; use 127.0.0.1:6060, and a tunnel from elsewhere", listen)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("pprof: %w; choose another address (--pprof)", err)
	}
	mux := http.NewServeMux() // not the default one, where net/http/pprof puts itself
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	s := &Server{listener: l, http: serverOf(onlyLoopback(mux), log), what: "pprof"}
	s.http.WriteTimeout = 0 // a profile takes as long as it is told to
	return s, nil
}

// onlyLoopback keeps web pages out, whatever their names point to. The command line of the process is not offered.
func onlyLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(host, "0")
		}
		if !Loopback(host) || !sameSite(r, nil) || r.URL.Path == "/debug/pprof/cmdline" {
			http.Error(w, "not here", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
