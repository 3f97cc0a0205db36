package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
)

// at are the options of an HTTP server.
func at(url string) client.Options {
	o := options(nil)
	o.Definition = definition.Definition{URL: url, Transport: definition.StreamableHTTP}
	return o
}

// site is a real server over Streamable HTTP, with a hook before it: one that returns true has answered.
type site struct {
	*httptest.Server
	mcp  *mcp.Server
	mu   sync.Mutex
	hook func(w http.ResponseWriter, r *http.Request) bool
	seen []http.Header
}

func newSite(t *testing.T, stateless bool) *site {
	t.Helper()
	s := &site{mcp: newServer(nil)}
	tool(s.mcp, "echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(string(r.Params.Arguments)), nil
	})
	s.Server = httptest.NewServer(s.handler(stateless))
	t.Cleanup(func() {
		s.Close()
		for left := range s.mcp.Sessions() { // those that nobody said goodbye to
			_ = left.Close()
		}
	})
	return s
}

func (s *site) handler(stateless bool) http.Handler {
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		Stateless: stateless, PropagateRequestCancellation: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		hook := s.hook
		s.seen = append(s.seen, r.Header.Clone())
		s.mu.Unlock()
		if hook == nil || !hook(w, r) {
			h.ServeHTTP(w, r)
		}
	})
}

func (s *site) before(hook func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

// methodOf reads the method of a request, and puts the body back.
func methodOf(r *http.Request) string {
	data, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(data)))
	var m message
	_ = json.Unmarshal(data, &m)
	return m.Method
}

func TestHTTP(t *testing.T) {
	for _, stateless := range []bool{true, false} {
		t.Run(fmt.Sprintf("stateless %v", stateless), func(t *testing.T) {
			site := newSite(t, stateless)
			o := at(site.URL)
			o.Definition.Headers = map[string]string{"Authorization": "Bearer static", "x-key": "k"}
			s := connect(t, o)
			if i := s.Info(); i.Legacy == stateless || i.Name != "real" {
				t.Errorf("%+v", i)
			}
			tools, err := s.Tools(t.Context())
			if err != nil || len(tools) != 1 || tools[0].Name != "echo" || string(tools[0].Schema) != `{"type":"object"}` {
				t.Fatalf("%+v %v", tools, err)
			}
			r, err := s.Call(t.Context(), "echo", json.RawMessage(`{"a":1}`), nil)
			if err != nil || !strings.Contains(textOf(t, r), `"a"`) {
				t.Errorf("%v %v", r, err)
			}
			closed(t, s)
			site.mu.Lock()
			defer site.mu.Unlock()
			for _, h := range site.seen {
				if h.Get("Authorization") != "Bearer static" || h.Get("X-Key") != "k" || h.Get("User-Agent") != "jetclaw/1" {
					t.Errorf("headers %v", h)
				}
			}
		})
	}
}

// flushed tells when the beginning of a stream has been sent: the server listens for changes then.
type flushed struct {
	http.ResponseWriter
	tell func()
}

func (f *flushed) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f *flushed) Flush() {
	f.ResponseWriter.(http.Flusher).Flush()
	f.tell()
}

func TestHTTPChanged(t *testing.T) {
	for name, tc := range map[string]struct{ stateless, late bool }{"modern": {true, false}, "legacy": {false, false}, "late": {false, true}} {
		t.Run(name, func(t *testing.T) {
			site := newSite(t, tc.stateless)
			h := site.Config.Handler
			connected, listening := make(chan struct{}), make(chan struct{})
			var once sync.Once
			site.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet || methodOf(r) == "subscriptions/listen" {
					if tc.late { // nothing is sent, not even headers, for longer than connecting takes
						<-connected
					}
					w = &flushed{w, func() { once.Do(func() { close(listening) }) }}
				}
				h.ServeHTTP(w, r)
			})
			told := make(chan client.Kind, 10)
			o := at(site.URL)
			o.Changed = func(k client.Kind) { told <- k }
			s := connect(t, o)
			close(connected)
			<-listening
			tool(site.mcp, "new", nil)
			if k := <-told; k != client.KindTools {
				t.Errorf("%s", k)
			}
			closed(t, s)
		})
	}
}

// Arguments that a schema marks so are sent as headers, too; a server of the new era refuses a call without.
func TestHTTPArgumentHeaders(t *testing.T) {
	site := newSite(t, true)
	site.mcp.AddTool(&mcp.Tool{Name: "in", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`,
	)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(r.Extra.Header.Get("Mcp-Param-Region")), nil
	})
	s := connect(t, at(site.URL))
	if _, err := s.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := s.Call(t.Context(), "in", json.RawMessage(`{"region":"eu"}`), nil)
	if err != nil || textOf(t, r) != "eu" {
		t.Errorf("%v %v", r, err)
	}
}

func TestSSE(t *testing.T) {
	server := newServer(nil)
	tool(server, "echo", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("hi"), nil })
	h := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(h)
	defer web.Close()
	o := at(web.URL)
	o.Definition.Transport = definition.SSE
	o.Definition.Headers = map[string]string{"X-Key": "k"}
	s := connect(t, o)
	if tools, err := s.Tools(t.Context()); err != nil || len(tools) != 1 {
		t.Errorf("%v %v", tools, err)
	}
	if r, err := s.Call(t.Context(), "echo", nil, nil); err != nil || textOf(t, r) != "hi" {
		t.Errorf("%v %v", r, err)
	}
	web.CloseClientConnections()
	<-s.Done()
	if _, err := s.Call(t.Context(), "echo", nil, nil); !errors.Is(err, client.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// What a server answers instead of MCP.
func TestHTTPConnectFails(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer elsewhere.Close()
	hang := make(chan struct{})
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   string
		broken bool
	}{
		"a web page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<html>")
		}, "connecting: the server answers with a web page (text/html), not MCP: is the url right?", true},
		"not found": {http.NotFound, "connecting: the server answers 404 Not Found", true},
		"down":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "connecting: the server answers 503 Service Unavailable", true},
		"unauthorised": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}, "connecting: the server refuses: 401 Unauthorized", false},
		"redirects elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/mcp?token=secret", http.StatusTemporaryRedirect)
		}, "connecting: the server redirects to " + elsewhere.URL + "/mcp: configure that address if it is the right one", true},
		"redirects for ever": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/x", http.StatusTemporaryRedirect)
		}, "connecting: the server redirects more than 3 times", true},
		"redirects to GET": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/x", http.StatusFound)
		}, "as GET: configure that address", true},
		"hangs": {func(http.ResponseWriter, *http.Request) { <-hang }, "connecting: no answer within 300ms", true},
		"drops": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "connecting: the server cannot be reached: EOF", true},
		"nonsense": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"hello":1}`)
		}, "connecting: ", true},
		"too much": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(make([]byte, 17<<20))
		}, "connecting: the answer is longer than 16 MiB", true},
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewUnstartedServer(tc.answer)
			web.Config.ErrorLog = nil
			web.Start()
			o := at(strings.Replace(web.URL, "http://", "http://user:secret@", 1) + "/mcp?key=secret")
			if name == "hangs" {
				o.Definition.ConnectionTimeoutMs = 300
			}
			s, err := client.Connect(t.Context(), o)
			if name == "hangs" {
				close(hang)
			}
			web.Close()
			if err == nil {
				closed(t, s)
				t.Fatal("it is connected")
			}
			if !strings.Contains(err.Error(), tc.want) || client.Broken(err) != tc.broken || strings.Contains(err.Error(), "secret") {
				t.Errorf("broken %v: %v", client.Broken(err), err)
			}
		})
	}
	if _, err := client.Connect(t.Context(), at("ftp://x/")); err == nil {
		t.Error("ftp")
	}
}

func TestHTTPRedirectHere(t *testing.T) {
	site := newSite(t, false)
	site.before(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/mcp" {
			http.Redirect(w, r, "/mcp/", http.StatusPermanentRedirect)
			return true
		}
		return false
	})
	s := connect(t, at(site.URL+"/mcp"))
	if _, err := s.Call(t.Context(), "echo", nil, nil); err != nil {
		t.Error(err)
	}
}

// keeper is an Authorizer whose token has run out.
type keeper struct {
	mu         sync.Mutex
	token      string
	fail       error
	challenges []string
}

func (k *keeper) Authorization(context.Context) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return "Bearer " + k.token, nil
}

func (k *keeper) Refused(_ context.Context, status int, challenge string) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.challenges = append(k.challenges, fmt.Sprint(status, " ", challenge))
	k.token = "new"
	return k.fail == nil, k.fail
}

func TestHTTPAuthorizer(t *testing.T) {
	site := newSite(t, true)
	site.before(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "Bearer new" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	k := &keeper{token: "old"}
	o := at(site.URL)
	o.Authorize = k
	o.Definition.Headers = map[string]string{"authorization": "Bearer static"}
	s := connect(t, o)
	if _, err := s.Call(t.Context(), "echo", nil, nil); err != nil {
		t.Error(err)
	}
	if want := `401 Bearer error="invalid_token"`; len(k.challenges) != 1 || k.challenges[0] != want {
		t.Errorf("refused: %q", k.challenges)
	}
	o.Authorize = &keeper{token: "old", fail: errors.New("somebody has to log in")}
	_, err := client.Connect(t.Context(), o)
	if !errors.Is(err, o.Authorize.(*keeper).fail) || client.Broken(err) || len(o.Authorize.(*keeper).challenges) != 1 {
		t.Errorf("%v after %d refusals", err, len(o.Authorize.(*keeper).challenges))
	}
	// A session survives that a request is refused.
	site.before(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true })
	_, err = s.Call(t.Context(), "echo", nil, nil)
	if refused, ok := errors.AsType[*client.RefusedError](err); !ok || refused.Status != 403 {
		t.Errorf("%v", err)
	}
	site.before(nil)
	if _, err := s.Call(t.Context(), "echo", nil, nil); err != nil {
		t.Error(err)
	}
}

// What goes wrong with one call leaves the session as it is.
func TestHTTPCallFails(t *testing.T) {
	hang := make(chan struct{})
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"500": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "tools/call: the server answers 500 Internal Server Error"},
		"400": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }, "tools/call: the server answers 400 Bad Request"},
		"web page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
		}, "tools/call: the server answers with a web page (text/html), not MCP: is the url right?"},
		"stream that ends": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ": hello\n\n")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "request terminated without response"},
		"answer that ends": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "tools/call: the answer ends early: unexpected EOF"},
		"refused redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusTemporaryRedirect)
		}, "tools/call: the server redirects to http://169.254.169.254/latest: configure"},
		"hang": {func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-hang:
			}
		}, "tools/call: no answer within 3"},
	} {
		t.Run(name, func(t *testing.T) {
			site := newSite(t, name != "400")
			o := at(site.URL)
			o.Definition.RequestTimeoutMs = 300
			if name != "hang" {
				o.Definition.RequestTimeoutMs = 0
			}
			s := connect(t, o)
			site.before(func(w http.ResponseWriter, r *http.Request) bool {
				if methodOf(r) != "tools/call" {
					return false
				}
				tc.answer(w, r)
				return true
			})
			_, err := s.Call(t.Context(), "echo", nil, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !client.Broken(err) {
				t.Errorf("%v", err)
			}
			site.before(nil)
			if name == "hang" {
				return // 300 ms may be too little for this machine
			}
			if _, err := s.Call(t.Context(), "echo", nil, nil); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
	close(hang)
}

func TestHTTPProxy(t *testing.T) {
	site := newSite(t, true)
	var through atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through.Add(1)
		r.Host = site.Listener.Addr().String() // else it looks like DNS rebinding
		site.Config.Handler.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	to, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	o := at("http://mcp.invalid/")
	o.Proxy = func(*http.Request) (*url.URL, error) { return to, nil }
	s := connect(t, o)
	if _, err := s.Call(t.Context(), "echo", nil, nil); err != nil || through.Load() < 2 {
		t.Errorf("%d requests, %v", through.Load(), err)
	}
	closed(t, s)
}

// A message address elsewhere would be sent our headers.
func TestSSEMessagesElsewhere(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: endpoint\ndata: http://127.0.0.1:1/messages?secret\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer web.Close()
	o := at(web.URL)
	o.Definition.Transport = definition.SSE
	_, err := client.Connect(t.Context(), o)
	if err == nil || err.Error() != "connecting: the server names another address for messages: http://127.0.0.1:1" {
		t.Errorf("%v", err)
	}
}
