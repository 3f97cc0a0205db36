package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
)

// A server that has forgotten the session, in the ways that they say so.
func TestHTTPSessionGone(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"restart": nil, // another server of the SDK
		"404":     http.NotFound,
		"404 explained": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
		},
		"400 explained": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			site := newSite(t, false)
			s := connect(t, at(site.URL))
			if answer == nil {
				site.Config.Handler = site.handler(false)
			} else {
				site.before(func(w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true })
			}
			_, err := s.Call(t.Context(), "echo", nil, nil)
			if !errors.Is(err, client.ErrClosed) || !client.Broken(err) {
				t.Errorf("%v", err)
			}
			<-s.Done()
			if _, err := s.Call(t.Context(), "echo", nil, nil); !errors.Is(err, client.ErrClosed) {
				t.Errorf("%v", err)
			}
			site.before(nil)
			again := connect(t, at(site.URL))
			if _, err := again.Call(t.Context(), "echo", nil, nil); err != nil {
				t.Errorf("anew: %v", err)
			}
		})
	}
}

// The stream of notifications is not worth a session.
func TestHTTPWithoutStream(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"405": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) },
		"500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"hanging": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"web page": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"dropped":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"silent":   func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			site := newSite(t, false)
			site.before(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodGet {
					return false
				}
				answer(w, r)
				return true
			})
			s := connect(t, at(site.URL))
			if _, err := s.Call(t.Context(), "echo", nil, nil); err != nil {
				t.Error(err)
			}
			closed(t, s)
		})
	}
}

func TestHTTPCancelled(t *testing.T) {
	for _, stateless := range []bool{true, false} {
		site := newSite(t, stateless)
		began, seen := make(chan struct{}), make(chan struct{})
		tool(site.mcp, "wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			close(began)
			<-ctx.Done()
			close(seen)
			return nil, ctx.Err()
		})
		s := connect(t, at(site.URL))
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-began
			cancel()
		}()
		if _, err := s.Call(ctx, "wait", nil, nil); !errors.Is(err, context.Canceled) || client.Broken(err) {
			t.Errorf("%v", err)
		}
		<-seen
	}
}
