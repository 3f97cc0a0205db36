package botapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	half  = "AAcanary-token_of-these-tests-0123456789"
	token = "123456789:" + half
)

func client(t *testing.T, root string) *botapi.Client {
	t.Helper()
	c, err := botapi.New(botapi.Config{Token: token, APIRoot: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// serve answers each call with a status, headers ("Name: value") and a body.
func serve(t *testing.T, status int, body string, headers ...string) *botapi.Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "{echo}", r.URL.Path)) // the client may stop reading
	}))
	t.Cleanup(srv.Close)
	return client(t, srv.URL)
}

// failure expects an *Error that does not tell the token, in whatever way it is printed.
func failure(t *testing.T, err error) *botapi.Error {
	t.Helper()
	e, ok := errors.AsType[*botapi.Error](err)
	if !ok {
		t.Fatalf("got %v, want an *Error", err)
	}
	t.Log(err)
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		for _, s := range []string{cause.Error(), fmt.Sprintf("%+v", cause), fmt.Sprintf("%#v", cause)} {
			if tells(s) {
				t.Errorf("tells the token: %s", s)
			}
		}
	}
	if e.Method == "" || e.Description == "" || len(e.Description) > 300 {
		t.Errorf("method %q, description of %d bytes", e.Method, len(e.Description))
	}
	return e
}

func tells(s string) bool {
	return strings.Contains(s, half) || strings.Contains(s, half[:20]) || strings.Contains(strings.ToLower(s), fmt.Sprintf("%x", half)) ||
		strings.Contains(strings.ToUpper(s), "%41%41%63")
}

// call is what a server was asked.
type call struct {
	Verb, Path string
	Params     map[string]any
}

// recorder answers every method with the result that is set for it, and keeps what was asked.
type recorder struct {
	mu      sync.Mutex
	calls   []call
	results map[string]string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	c := call{Verb: req.Method, Path: req.URL.Path}
	if body, err := io.ReadAll(req.Body); err == nil && len(body) > 0 {
		if err := json.Unmarshal(body, &c.Params); err != nil || req.Header.Get("Content-Type") != "application/json" {
			c.Params = map[string]any{"not JSON": string(body)}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
	result := r.results[req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]]
	if result == "" {
		result = "true"
	}
	fmt.Fprintf(w, `{"ok":true,"result":%s}`, result)
}

// last is the only call so far, without the token; it is forgotten.
func (r *recorder) last(t *testing.T) call {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.calls) != 1 {
		t.Fatalf("%d calls, want 1", len(r.calls))
	}
	c := r.calls[0]
	c.Path = strings.ReplaceAll(c.Path, token, "TOKEN")
	r.calls = nil
	return c
}

// wire is a TCP server; handle gets each connection, which is closed when it returns. Requests are counted by handle.
func wire(t *testing.T, handle func(c net.Conn, in *bufio.Reader)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				handle(c, bufio.NewReader(c))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// take reads one whole request.
func take(in *bufio.Reader) bool {
	req, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

// gone returns when the other side has hung up.
func gone(in *bufio.Reader) { _, _ = io.Copy(io.Discard, in) }

func reset(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }

func say(c net.Conn, s string) { _, _ = io.WriteString(c, s) } // the client may have hung up: the test looks at its side

func send(ctx context.Context, c *botapi.Client) error {
	_, err := c.SendMessage(ctx, botapi.Send{Chat: 7, Text: "hello"})
	return err
}
