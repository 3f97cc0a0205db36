package outbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/outbox"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

const patience = 30 * time.Second

// house is a bus with somebody who appends what the outbox shows, and a reader of the journal.
type house struct {
	bus       *bustest.Server
	turns     *bus.Conn
	approvals *bus.Conn

	mu     sync.Mutex
	events []envelope.Event // guarded by mu
	news   chan struct{}    // of size 1
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{news: make(chan struct{}, 1)}
	h.bus = bustest.New(t, outbox.Spec(), bus.Spec{Name: "turns", Appends: []string{
		"turn.completed", "turn.failed", "turn.cancelled", "session.deleted", "session.reset", "notice.posted.turns",
		"session.configured", "session.compacted", "compaction.failed",
	}}, bus.Spec{Name: "approvals", Appends: []string{
		"approval.requested", "approval.decided", "approval.expired", "approval.cancelled", "approval.voided", "notice.posted.approvals",
	}}, bus.Spec{Name: "intake", Appends: []string{"message.received"}}, bus.Spec{Name: "bridge", Asks: []string{"outbox.send"}})
	h.turns, h.approvals = h.bus.Connect(t, "turns"), h.bus.Connect(t, "approvals")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := h.bus.Admin().Follow(ctx, bus.ReplayOptions{}, func(e envelope.Event) error {
			h.mu.Lock()
			h.events = append(h.events, e)
			h.mu.Unlock()
			select {
			case h.news <- struct{}{}:
			default:
			}
			return nil
		})
		if err != nil && ctx.Err() == nil { // a test may end before the reader has begun
			t.Errorf("follow: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return h
}

// show appends an event of which id is the delivery.
func (h *house) show(t *testing.T, s session.ID, id string, b envelope.Body) {
	t.Helper()
	conn := h.turns
	if _, ok := b.(approvalv1.Event); ok {
		conn = h.approvals
	}
	if _, err := conn.Journal().AppendFact(t.Context(), envelope.Event{ID: id, Session: s, Key: id, Body: b}, 0); err != nil {
		t.Fatal(err)
	}
}

func answer(text string) turnv1.Completed {
	return turnv1.Completed{Text: text, Answers: []string{"m-" + text}}
}

// until waits for the journal to be as ok wants it.
func (h *house) until(t *testing.T, ok func([]envelope.Event) bool) []envelope.Event {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		h.mu.Lock()
		events := slices.Clip(h.events)
		h.mu.Unlock()
		if ok(events) {
			return events
		}
		select {
		case <-h.news:
		case <-limit.C:
			for _, e := range events {
				t.Logf("%d %s %s %+v", e.Cursor, e.Session, e.Type(), e.Body)
			}
			t.Fatal("the journal does not become what the test waits for")
		}
	}
}

func count(events []envelope.Event, kind string) int {
	n := 0
	for _, e := range events {
		if e.Kind() == kind {
			n++
		}
	}
	return n
}

// deliveries are what happened to a session's items, in order, as "sent a/1" (item and attempt).
func deliveries(t *testing.T, events []envelope.Event, s session.ID) []string {
	t.Helper()
	var all []string
	for _, e := range events {
		verb, ok := strings.CutPrefix(e.Kind(), "delivery.")
		if e.Session != s || !ok {
			continue
		}
		data, err := json.Marshal(e.Body)
		if err != nil {
			t.Fatal(err)
		}
		var b struct {
			Delivery string
			Attempt  int
			Repeat   bool
		}
		if err := json.Unmarshal(data, &b); err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%s %s/%d", verb, b.Delivery, b.Attempt)
		if b.Repeat {
			line += " repeat"
		}
		all = append(all, line)
	}
	return all
}

// worker is one running outbox.
type worker struct {
	conn *bus.Conn
	stop func() // and wait
}

func (h *house) run(t *testing.T, c outbox.Config) worker {
	t.Helper()
	return h.runAs(t, h.bus.Connect(t, "outbox"), c)
}

func (h *house) runAs(t *testing.T, conn *bus.Conn, c outbox.Config) worker {
	t.Helper()
	c.Conn = conn
	c.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := outbox.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	ready, enough := context.WithTimeout(t.Context(), patience)
	defer enough()
	if err := s.Ready(ready); err != nil {
		t.Fatal(err)
	}
	return worker{c.Conn, stop}
}

// call is one POST that arrived.
type call struct {
	Session  session.ID
	Delivery string
	Attempt  int
	Repeat   bool
	Text     string
	Kind     string
	Answers  []string
	Approval string
	at       time.Time
}

// hook is an HTTP server that takes callbacks. reply is asked for each call, n from 1.
type hook struct {
	url   string
	mu    sync.Mutex
	calls []call // guarded by mu
}

func newHook(t *testing.T, reply func(n int, c call, w http.ResponseWriter)) *hook {
	t.Helper()
	h := &hook{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := call{at: time.Now()}
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			t.Errorf("callback: %v", err)
		}
		if key := r.Header.Get("Idempotency-Key"); key != c.Delivery {
			t.Errorf("Idempotency-Key %q of delivery %q", key, c.Delivery)
		}
		h.mu.Lock()
		h.calls = append(h.calls, c)
		n := len(h.calls)
		h.mu.Unlock()
		reply(n, c, w)
	}))
	t.Cleanup(srv.Close)
	h.url = srv.URL
	return h
}

func (h *hook) got() []call {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clip(h.calls)
}

// pushing is an outbox that pushes channel http to the hook, with short waits.
func pushing(t *testing.T, h *hook) outbox.Config {
	t.Helper()
	s, err := outbox.Callback(outbox.CallbackConfig{URL: h.url, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	l := delivery.DefaultLimits()
	l.Backoff = func(string, int) time.Duration { return 20 * time.Millisecond }
	return outbox.Config{Senders: map[string]outbox.Sender{"http": s}, Limits: l}
}
