package turns_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// The neighbours' events, as far as these tests append them.
var (
	intake   = bus.Spec{Name: "intake", Appends: []string{"message.received", "control.requested"}}
	executor = bus.Spec{Name: "tools", Appends: []string{"call.completed.builtin"}, Catalog: "builtin"}
	cli      = bus.Spec{Name: "cli", Asks: []string{"turns.context", "turns.delete", "turns.fork", "turns.rerun"}}
)

// house is a bus with the service running on it.
type house struct {
	t       *testing.T
	server  *bustest.Server
	intake  *bus.Conn
	session session.ID
	events  chan envelope.Event // of the session, all of them
}

func start(t *testing.T, m turns.Model, limits turn.Limits, tools ...toolv1.Tool) *house {
	t.Helper()
	return startWith(t, turns.Config{Catalog: turns.Only(m), Agents: map[string]turns.Agent{turns.MainAgent: {Limits: limits}}}, tools...)
}

// publish replaces what the executor offers.
func publish(t *testing.T, server *bustest.Server, list ...toolv1.Tool) {
	t.Helper()
	data, err := json.Marshal(toolv1.Catalogue{Executor: "builtin", Tools: list})
	if err == nil {
		err = server.Connect(t, "tools").SetCatalog(t.Context(), "builtin", data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func startWith(t *testing.T, c turns.Config, tools ...toolv1.Tool) *house {
	t.Helper()
	return startIn(t, "main.http.test.one", c, tools...)
}

// startIn is startWith for another session.
func startIn(t *testing.T, name string, c turns.Config, tools ...toolv1.Tool) *house {
	t.Helper()
	h := &house{t: t, server: bustest.New(t, turns.Spec(), intake, executor, cli), events: make(chan envelope.Event, 100)}
	h.intake = h.server.Connect(t, "intake")
	publish(t, h.server, tools...)
	var err error
	if h.session, err = session.Parse(name); err != nil {
		t.Fatal(err)
	}
	c.Conn, c.Log = h.server.Connect(t, "turns"), slog.New(slog.DiscardHandler)
	s, err := turns.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	running.Go(func() {
		err := h.server.Admin().Follow(ctx, bus.ReplayOptions{Session: h.session}, func(e envelope.Event) error {
			h.events <- e
			return nil
		})
		if err != nil && ctx.Err() == nil {
			t.Errorf("follow: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// say appends a fact of intake.
func (h *house) say(body envelope.Body, key string) {
	h.t.Helper()
	if _, err := h.intake.Journal().AppendFact(h.t.Context(), envelope.Event{ID: "id-" + key, Session: h.session, Key: key, Body: body}, 0); err != nil {
		h.t.Fatal(err)
	}
}

// until waits for an event of type B and returns it.
func until[B envelope.Body](h *house) B {
	h.t.Helper()
	for {
		if b, ok := within(h.t, h.events).Body.(B); ok {
			return b
		}
	}
}

// within receives, or fails the test when nothing comes.
func within[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(time.Minute):
		var zero T
		t.Fatalf("no %T came", zero)
		return zero
	}
}

// provider is an OpenAI-compatible server.
func provider(t *testing.T, h http.HandlerFunc) turns.Model {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return modelAt(t, turns.OpenAI, server.URL+"/v1")
}

// modelAt is a model of a provider called "local".
func modelAt(t *testing.T, api turns.API, url string) turns.Model {
	t.Helper()
	c, err := turns.NewCatalog(turns.CatalogConfig{Providers: map[string]turns.Provider{"local": {API: api, BaseURL: url, APIKey: "sk-test"}}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Model("local/fake-1")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func speak(w io.Writer, chunks ...string) {
	for _, c := range chunks {
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", c)
	}
	_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n")
}

func TestAMessageIsAnswered(t *testing.T) {
	var prompts atomic.Value
	h := start(t, provider(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		prompts.Store(string(body))
		speak(w, `{"content":"hi "}`, `{"content":"there"}`)
	}), turn.Limits{})
	live := make(chan turns.Delta, 10)
	if err := h.server.Admin().SubscribeLive(t.Context(), h.session, func(data []byte) {
		var d turns.Delta
		if err := json.Unmarshal(data, &d); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		live <- d
	}); err != nil {
		t.Fatal(err)
	}
	h.say(messagev1.Received{Text: "hello"}, "k1")
	got := until[turnv1.Completed](h)
	if got.Text != "hi there" || got.Turn != "id-k1/t" || got.Model != "local/fake-1" || got.Usage != (turnv1.Usage{Input: 5, Output: 2}) {
		t.Errorf("got %+v", got)
	}
	for streamed := ""; streamed != got.Text; {
		d := within(t, live)
		if d.Type != turns.DeltaType || d.Turn != got.Turn || d.Round != 1 || d.Attempt != 1 {
			t.Errorf("a delta %+v", d)
		}
		streamed += d.Text
	}
	h.say(messagev1.Received{Text: "again"}, "k2")
	until[turnv1.Completed](h)
	prompt := prompts.Load().(string)
	for _, want := range []string{turns.DefaultInstructions, `"hello"`, `"hi there"`, `"again"`} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the second prompt lacks %s: %s", want, prompt)
		}
	}
}

// TestAFailureIsToldAndTheNextMessageGoesOn for each way in which a model can fail.
func TestAFailureIsToldAndTheNextMessageGoesOn(t *testing.T) {
	limits := turn.DefaultLimits()
	limits.CallTime = 300 * time.Millisecond
	for _, c := range []struct {
		name  string
		fail  http.HandlerFunc
		cause turnv1.Cause
		says  string
	}{
		{"refused", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"bad key"}}`)
		}, turnv1.ModelRefused, "bad key"},
		{"half an answer", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"hal`)
		}, turnv1.ModelGarbage, "broke off"},
		{"nothing", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, turnv1.TimedOut, "did not finish its answer within 300ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var calls atomic.Int64
			h := start(t, provider(t, func(w http.ResponseWriter, r *http.Request) {
				if calls.Add(1) == 1 {
					c.fail(w, r)
					return
				}
				speak(w, `{"content":"better"}`)
			}), limits)
			h.say(messagev1.Received{Text: "hello"}, "k1")
			h.say(messagev1.Received{Text: "still there?"}, "k2")
			if got := until[turnv1.Failed](h); got.Cause != c.cause || !strings.Contains(got.Text, c.says) || got.Answers[0] != "id-k1" {
				t.Errorf("got %+v", got)
			}
			if got := until[turnv1.Completed](h); got.Text != "better" || got.Answers[0] != "id-k2" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAStopCancelsARunningCall(t *testing.T) {
	called, gone := make(chan struct{}), make(chan struct{})
	h := start(t, provider(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(called)
		<-r.Context().Done()
		close(gone)
	}), turn.Limits{})
	h.say(messagev1.Received{Text: "hello"}, "k1")
	within(t, called)
	h.say(messagev1.Control{Verb: messagev1.Stop}, "k2")
	if got := until[turnv1.Cancelled](h); got.By != "id-k2" || got.Answers[0] != "id-k1" {
		t.Errorf("got %+v", got)
	}
	within(t, gone) // the provider is not left working
}

func TestToolCalls(t *testing.T) {
	h := start(t, turns.NewOffline(), turn.Limits{}, toolv1.Tool{Name: "clock"}, toolv1.Tool{Name: "files.read"})
	h.say(messagev1.Received{Text: `!tool nothing {"a": 1}`}, "k1")
	if got := until[turnv1.Stepped](h); got.Calls[0].Refusal == "" {
		t.Errorf("a tool that was not offered is not refused: %+v", got)
	}
	if got := until[turnv1.Completed](h); !strings.Contains(got.Text, "there is no tool") {
		t.Errorf("got %+v", got)
	}
	h.say(messagev1.Received{Text: `!tool clock {}`}, "k2")
	step := until[turnv1.Stepped](h)
	_, err := h.server.Connect(t, "tools").Journal().AppendFact(t.Context(), envelope.Event{
		Session: h.session, Key: "call", Body: callv1.Completed{
			Executor: "builtin", Turn: step.Turn, Call: step.Calls[0].ID, Outcome: callv1.OK, Content: "noon",
		},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := until[turnv1.Continued](h); got.Round != 2 {
		t.Errorf("got %+v", got)
	}
	if got := until[turnv1.Completed](h); !strings.Contains(got.Text, "noon") {
		t.Errorf("got %+v", got)
	}
}

func TestNewNeedsItsParts(t *testing.T) {
	h := start(t, turns.NewOffline(), turn.Limits{})
	conn, log, offline := h.server.Connect(t, "turns"), slog.New(slog.DiscardHandler), turns.Only(turns.NewOffline())
	for name, c := range map[string]turns.Config{
		"connection": {Catalog: offline, Log: log},
		"catalog":    {Conn: conn, Log: log},
		"logger":     {Conn: conn, Catalog: offline},
		"attempts":   {Conn: conn, Catalog: offline, Log: log, Agents: map[string]turns.Agent{"main": {Limits: turn.Limits{Rounds: 1}}}},
		"mode":       {Conn: conn, Catalog: offline, Log: log, Agents: map[string]turns.Agent{"main": {Queues: map[string]turn.Mode{"http": "x"}}}},
	} {
		if _, err := turns.New(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// TestStartStop: whenever it is stopped, Run returns, and nothing is left running.
func TestStartStop(t *testing.T) {
	server := bustest.New(t, turns.Spec())
	conn := server.Connect(t, "turns")
	for i := range 10 {
		s, err := turns.New(turns.Config{Conn: conn, Catalog: turns.Only(turns.NewOffline()), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := s.Run(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("run: %v", err)
			}
		})
		if i%2 == 0 {
			if err := s.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		stop()
		running.Wait()
	}
}
