package approvals

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
)

const (
	patience = 30 * time.Second
	anna     = "telegram:1"
)

// house is a bus with the neighbours of the service, and a reader of the journal. The gate is a stand-in that answers on
// the bus: tools parks calls there and judges them.
type house struct {
	bus   *bustest.Server
	tools *bus.Conn
	chat  *bus.Conn // appends what people send, and ends turns
	cli   *bus.Conn

	mu     sync.Mutex
	events []envelope.Event // guarded by mu
	policy string           // guarded by mu; "": the gate is not to be asked
	denies string           // guarded by mu; why
	judged int              // guarded by mu
	news   chan struct{}    // of size 1

	started func(*Service) // nil, or told of the service that run makes
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{news: make(chan struct{}, 1), policy: "p1"}
	h.bus = bustest.New(t, Spec(),
		bus.Spec{Name: "tools", Appends: []string{"call.awaiting", "call.denied", "call.asked.*", "call.completed.*"}, Serves: []string{"judge", "version"}},
		bus.Spec{Name: "chat", Appends: []string{"decision.submitted", "turn.cancelled", "session.deleted", "access.granted", "access.revoked"}},
		bus.Spec{Name: "cli", Asks: []string{"approvals.list", "approvals.get", "approvals.decide"}},
	)
	h.tools, h.chat, h.cli = h.bus.Connect(t, "tools"), h.bus.Connect(t, "chat"), h.bus.Connect(t, "cli")
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
	for verb, handle := range map[string]bus.Handler{"judge": h.judge, "version": h.version} {
		if err := h.tools.Serve(ctx, verb, handle); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h *house) rule(policy, denies string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.policy, h.denies = policy, denies
}

func (h *house) judge(_ context.Context, data []byte) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.judged++
	var q struct {
		Turn, Call, Tool string
		Index            int
		Arguments        json.RawMessage
	}
	if err := json.Unmarshal(data, &q); err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	if h.policy == "" {
		return nil, fault.New(fault.Unavailable, "not now")
	}
	w := mail(q.Turn, q.Call, h.policy, string(q.Arguments))
	answer := map[string]any{"effect": "ask", "request": w.Request, "rule": w.Rule, "shown": w.Shown, "grant": w.Grant}
	if h.denies != "" {
		answer = map[string]any{"effect": "deny", "request": w.Request, "rule": "policy.deny[0]", "reason": h.denies}
	}
	return answer, nil
}

func (h *house) version(context.Context, []byte) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.policy == "" {
		return nil, fault.New(fault.Unavailable, "not now")
	}
	return map[string]string{"policy": h.policy}, nil
}

// mail is a call as the gate parks it.
func mail(turn, call, policy, args string) callv1.Awaiting {
	return callv1.Awaiting{
		Request: callv1.Request{
			Turn: turn, Call: call, Tool: "send", Executor: "mail", Arguments: json.RawMessage(args), Digest: canonical.Digest([]byte(args)),
			ToolDigest: "t", Level: toolv1.L2, Policy: policy,
		},
		Rule: "level L2", Why: []string{"It sends mail."}, Shown: "send\n" + args, Fixed: "any mail", Grant: "g",
	}
}

// post appends a fact and returns its id, which is its key.
func post(t *testing.T, c *bus.Conn, s session.ID, id string, b envelope.Body) string {
	t.Helper()
	if _, err := c.Journal().AppendFact(t.Context(), envelope.Event{ID: id, Session: s, Key: id, Body: b}, 0); err != nil {
		t.Fatal(err)
	}
	return id
}

// park lets the gate park a call, and waits for the question.
func (h *house) park(t *testing.T, s session.ID, call string) string {
	t.Helper()
	id := approval.ID(s, post(t, h.tools, s, string(s)+call, mail("m/t", call, "p1", `{"to":"<x>"}`)))
	h.until(t, func(e []envelope.Event) bool { return has(e, "approval.requested", id) })
	return id
}

func (h *house) submit(t *testing.T, s session.ID, id, by, about string, d callv1.Decision) {
	t.Helper()
	post(t, h.chat, s, id, messagev1.Decision{From: messagev1.Sender{ID: by}, Approval: about, Decision: d})
}

// has says whether an event of a kind is about an approval.
func has(events []envelope.Event, kind, id string) bool {
	_, ok := find(events, kind, id)
	return ok
}

func find(events []envelope.Event, kind, id string) (envelope.Event, bool) {
	i := slices.IndexFunc(events, func(e envelope.Event) bool {
		data, err := json.Marshal(e.Body)
		var b struct{ Approval string }
		return err == nil && e.Kind() == kind && json.Unmarshal(data, &b) == nil && b.Approval == id
	})
	if i < 0 {
		return envelope.Event{}, false
	}
	return events[i], true
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
		case <-h.news: // it is waited for while something happens
			limit.Reset(patience)
		case <-limit.C:
			for _, e := range events[max(0, len(events)-40):] {
				t.Logf("%d %s %s %+v", e.Cursor, e.Session, e.Type(), e.Body)
			}
			t.Fatal("the journal does not become what the test waits for")
		}
	}
}

// run starts the service; the result stops it and waits.
func (h *house) run(t *testing.T, c Config) (stop func()) {
	t.Helper()
	c.Conn, c.Key = h.bus.Connect(t, approval.Service), testKey
	if c.Approvers == nil {
		c.Approvers = []string{local, anna}
	}
	c.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if h.started != nil {
		h.started(s)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
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
	return stop
}

func (h *house) decide(ctx context.Context, r DecideRequest) (DecideAnswer, error) {
	return bus.Ask[DecideAnswer](ctx, h.cli, approval.Service, decideVerb, r)
}

func (h *house) get(t *testing.T, id string) View {
	t.Helper()
	v, err := bus.Ask[View](t.Context(), h.cli, approval.Service, getVerb, GetRequest{Approval: id})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (h *house) list(t *testing.T, r ListRequest) List {
	t.Helper()
	l, err := bus.Ask[List](t.Context(), h.cli, approval.Service, listVerb, r)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
