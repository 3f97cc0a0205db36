package intake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

const (
	appToken   = "token-of-the-app-0123456789"
	otherToken = "token-of-another-0123456789"
	appSession = session.ID("main.http.app.default")
)

// newBus is a bus for intake, for the test in the place of the services whose events intake reads, and for a client.
func newBus(t *testing.T) *bustest.Server {
	t.Helper()
	return bustest.New(t, Spec(),
		bus.Spec{
			Name: "turns", Live: true,
			Appends: []string{
				"turn.started", "turn.continued", "turn.stepped", "turn.completed", "turn.failed", "turn.cancelled", "session.deleted", "session.configured",
				"session.reset", "session.compacted", "compaction.failed", "notice.posted.*",
			},
		},
		bus.Spec{
			Name: "approvals", Follows: true, Serves: []string{"get", "list"},
			Appends: []string{
				"approval.requested", "approval.decided", "approval.expired", "approval.cancelled", "approval.voided", "notice.posted.approvals",
			},
		},
		bus.Spec{Name: "cli", Asks: []string{"intake.submit", "intake.control", "intake.reply"}})
}

// running is a service at work.
type running struct {
	*Service
	t    *testing.T
	base string
	stop func() error // ends it and returns what Run returned
}

func start(t *testing.T, srv *bustest.Server) *running {
	t.Helper()
	return startWith(t, srv, func(*Config) {}, func(*Service) {})
}

// startWith is start with another configuration, and with a service that is prepared before it runs.
func startWith(t *testing.T, srv *bustest.Server, change func(*Config), prepare func(*Service)) *running {
	t.Helper()
	h := DefaultHTTPConfig()
	h.Listen = "127.0.0.1:0"
	h.Tokens = map[string]string{"app": appToken, "other": otherToken}
	c := Config{
		Conn: srv.Connect(t, "intake"), HTTP: &h, Limits: thread.Limits{MaxBytes: 128 << 10},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	change(&c)
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	prepare(s)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	r := &running{Service: s, t: t}
	stopped := false
	r.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	if err := s.Ready(t.Context()); err != nil {
		t.Fatalf("%v; Run: %v", err, r.stop())
	}
	r.base = "http://" + s.Addr()
	return r
}

// result is what an HTTP answer says beside its body.
type result struct {
	status int
	header http.Header
}

// call makes a request and decodes the answer, whatever its status. body may be nil, raw bytes, or a value for JSON.
func (r *running) call(method, path, token string, body, into any) result {
	r.t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		in = bytes.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			r.t.Fatal(err)
		}
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.base+path, in)
	if err != nil {
		r.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client(r.t).Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			r.t.Fatalf("%s %s: %d %s: %v", method, path, resp.StatusCode, data, err)
		}
	}
	return result{resp.StatusCode, resp.Header}
}

// client leaves no idle connection behind.
func client(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

type post struct {
	Session string `json:"session"`
	Text    string `json:"text"`
	Key     string `json:"idempotency_key,omitempty"`
}

// answer has the fields of all answers.
type answer struct {
	MessageID string     `json:"message_id"`
	Session   session.ID `json:"session"`
	Cursor    uint64     `json:"cursor"`
	Status    string     `json:"status"`
	Text      string     `json:"text"`
	Cause     string     `json:"cause"`
	Error     string     `json:"error"`
	Kind      string     `json:"kind"`
}

// send posts a message that is taken.
func (r *running) send(p post) answer {
	r.t.Helper()
	var a answer
	if got := r.call(http.MethodPost, "/v1/messages", appToken, p, &a); got.status != http.StatusAccepted {
		r.t.Fatalf("POST %+v: %d %+v", p, got.status, a)
	}
	return a
}

func (r *running) reply(id, wait string) answer {
	r.t.Helper()
	var a answer
	if got := r.call(http.MethodGet, "/v1/messages/"+id+"/reply?wait="+wait, appToken, nil, &a); got.status != http.StatusOK {
		r.t.Fatalf("reply to %s: %d %+v", id, got.status, a)
	}
	return a
}

// awaitWaiters returns when n wait for a message.
func (r *running) awaitWaiters(m topic, n int) {
	r.t.Helper()
	ctx := within(r.t, 10*time.Second)
	for ctx.Err() == nil {
		r.board.mu.Lock()
		waiting := len(r.board.waiters[m])
		r.board.mu.Unlock()
		if waiting >= n {
			return
		}
		runtime.Gosched()
	}
	r.t.Fatalf("not %d wait for %s", n, m.id)
}

// appendAs appends an event behind the session's last.
func appendAs(t *testing.T, c *bus.Conn, s session.ID, b envelope.Body) uint64 {
	t.Helper()
	for {
		last, err := c.Journal().Last(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		cursor, err := c.Journal().Append(t.Context(), envelope.Event{Session: s, Prev: last, Body: b})
		if _, lost := errors.AsType[*bus.Conflict](err); lost {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return cursor
	}
}

// history are the types of the session's events.
func history(t *testing.T, srv *bustest.Server, s session.ID) (out []string) {
	t.Helper()
	for _, e := range eventsOf(t, srv, s) {
		out = append(out, e.Type())
	}
	return out
}

func eventsOf(t *testing.T, srv *bustest.Server, s session.ID) (out []envelope.Event) {
	t.Helper()
	err := srv.Admin().Replay(t.Context(), bus.ReplayOptions{Session: s}, func(e envelope.Event) error {
		out = append(out, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// eventID is the part of an HTTP message id that turns knows.
func eventID(t *testing.T, messageID string) string {
	t.Helper()
	_, id, ok := bytes.Cut([]byte(messageID), []byte("~"))
	if !ok {
		t.Fatalf("message id %q", messageID)
	}
	return string(id)
}

// within is a bound for what should be quick and must not hang.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
