package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/openai"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

const key = "sk-very-secret-123"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a provider and a client for it.
func serve(t *testing.T, h http.HandlerFunc) *openai.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return client(t, server.URL)
}

func client(t *testing.T, base string) *openai.Client {
	t.Helper()
	c, err := openai.New(openai.Config{BaseURL: base + "/v1/", APIKey: key, Model: "fake-1"})
	if err != nil {
		t.Fatal(err)
	}
	c.SetRetryDelay(time.Millisecond)
	t.Cleanup(c.CloseIdle)
	return c
}

// stream is a handler that sends the events given, and nothing else.
func stream(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { send(w, events...) }
}

func send(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", e)
	}
}

func text(s string) string {
	return fmt.Sprintf(`{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":%q}}]}`, s)
}

func finish(reason string) string {
	return fmt.Sprintf(`{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason)
}

func call(index, id, name, args string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{%s"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]}}]}`,
		index, id, name, args)
}

const usage = `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}`

var hello = model.Request{Messages: []turn.Message{{Role: turn.User, Text: "hello"}}}

// generate returns the answer with what was streamed, checked to be the same.
func generate(ctx context.Context, t *testing.T, c *openai.Client, r model.Request) (model.Answer, error) {
	t.Helper()
	var deltas strings.Builder
	a, err := c.Generate(ctx, r, func(d string) { deltas.WriteString(d) })
	if err == nil && deltas.String() != a.Text {
		t.Errorf("streamed %q, answered %q", deltas.String(), a.Text)
	}
	return a, err
}

// failure is the model error that err must be. It holds no secret.
func failure(t *testing.T, err error) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a model error", err)
	}
	if strings.Contains(e.Error(), key) {
		t.Errorf("the key is in %q", e.Error())
	}
	if e.Text == "" || e.Detail == "" {
		t.Errorf("a failure without a text or a detail: %+v", e)
	}
	return e
}

// wantCause checks an error and returns what the person is told.
func wantCause(t *testing.T, err error, want turnv1.Cause) string {
	t.Helper()
	e := failure(t, err)
	if e.Cause != want {
		t.Errorf("cause %s, want %s: %s", e.Cause, want, e)
	}
	return e.Text
}

// pipes is a network in memory, for synctest: it blocks on channels only.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, io.EOF
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// serveInMemory is serve within a bubble. It ends with the returned function.
func serveInMemory(t *testing.T, h http.HandlerFunc) (*openai.Client, func()) {
	t.Helper()
	p := newPipes()
	server := &http.Server{ReadHeaderTimeout: time.Hour, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then a server notices that its client has left
		h(w, r)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(p) })
	c, err := openai.New(openai.Config{BaseURL: "http://model.test/v1", APIKey: key, Model: "fake-1"})
	if err != nil {
		t.Fatal(err)
	}
	c.SetDial(p.Dial)
	return c, func() {
		c.CloseIdle()
		_ = server.Close()
		serving.Wait()
	}
}
