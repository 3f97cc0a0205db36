// Package providertest holds the tests that every adapter behind HTTP must pass: a Suite of trouble, played over real
// connections, and what it needs to play a provider.
package providertest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// Key is the key of all clients; no answer and no error may hold it.
const Key = "sk-very-secret-123"

// Model is an adapter.
type Model interface {
	provider.Model
	CloseIdle()
}

// New makes an adapter.
type New func(provider.Config) (Model, error)

// Serve starts a provider and a client for it.
func (n New) Serve(t *testing.T, h http.HandlerFunc) Model {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return n.Client(t, provider.Config{BaseURL: server.URL + "/v1/"})
}

// Client makes a client with quick repeats.
func (n New) Client(t *testing.T, cfg provider.Config) Model {
	t.Helper()
	cfg.APIKey, cfg.Model, cfg.Delay = Key, "fake-1", time.Millisecond
	m, err := n(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.CloseIdle)
	return m
}

// InMemory is Serve within a synctest bubble, with the usual delays. It ends with the returned function.
func (n New) InMemory(t *testing.T, h http.HandlerFunc) (Model, func()) {
	t.Helper()
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	server := &http.Server{ReadHeaderTimeout: time.Hour, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then a server notices that its client has left
		h(w, r)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(p) })
	m, err := n(provider.Config{BaseURL: "http://model.test/v1", APIKey: Key, Model: "fake-1", Dial: p.dial})
	if err != nil {
		t.Fatal(err)
	}
	return m, func() {
		m.CloseIdle()
		_ = server.Close()
		serving.Wait()
	}
}

// Hello is a request.
func Hello() model.Request {
	return model.Request{Messages: []model.Message{{Role: turn.User, Text: "hello"}}}
}

// Generate returns the answer with what was streamed, checked to be the same.
func Generate(ctx context.Context, t *testing.T, m provider.Model, r model.Request) (model.Answer, error) {
	t.Helper()
	var deltas strings.Builder
	a, err := m.Generate(ctx, r, func(d string) { deltas.WriteString(d) })
	if err == nil && deltas.String() != a.Text {
		t.Errorf("streamed %q, answered %q", deltas.String(), a.Text)
	}
	if strings.Contains(deltas.String(), Key) {
		t.Errorf("the key was streamed: %q", deltas.String())
	}
	return a, err
}

// Want checks that err is a model's error of a class and returns it.
func Want(t *testing.T, err error, class model.Class) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a model error", err)
	}
	if strings.Contains(e.Error(), Key) {
		t.Errorf("the key is in %q", e.Error())
	}
	if e.Text == "" || e.Detail == "" || e.Cause == "" || len(e.Text) > 600 {
		t.Errorf("a failure without a cause, a text or a detail: %+v", e)
	}
	if e.Class != class {
		t.Errorf("class %q, want %q: %s", e.Class, class, e)
	}
	return e
}

// pipes is a network in memory, for synctest: it blocks on channels only.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept hands out the other end of what was dialed.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, io.EOF
	}
}

// Close ends Accept.
func (p *pipes) Close() error { p.once.Do(func() { close(p.done) }); return nil }

// Addr is none.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
