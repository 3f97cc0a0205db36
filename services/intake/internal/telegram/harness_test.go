package telegram

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/access"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

// patience is far more than anything here takes.
const patience = 30 * time.Second

// house is what outlives a channel: the journal, the object store, values, leases.
type house struct {
	mu      sync.Mutex
	changed chan struct{}
	policy  access.Policy
	state   access.State
	judged  []access.Attempt
	moves   []accessv1.Moved

	requests []wire.Request                   // in the order of the journal
	known    map[string]int                   // by session and key: which request it is, from 1
	bad      map[string]messagev1.Quarantined // by key
	files    map[string][]byte
	values   map[string][]byte
	leases   map[string]chan struct{} // has room for the holder

	submit func(ctx context.Context, r wire.Request) error // before it is in the journal; nil: nothing
	judge  func(a access.Attempt) error
	reply  func(r wire.ReplyRequest) (wire.Reply, error)
	passes string // the text that answers a program's question
	keep   func() error
	lost   chan struct{} // closing it takes the leases away
}

func newHouse() *house {
	return &house{
		policy: access.Policy{Mode: access.Open}, known: map[string]int{}, bad: map[string]messagev1.Quarantined{},
		files: map[string][]byte{}, values: map[string][]byte{}, leases: map[string]chan struct{}{}, lost: make(chan struct{}),
	}
}

// change is called with mu held.
func (h *house) change() {
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

func (h *house) wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(patience)
	for {
		h.mu.Lock()
		if ok() {
			h.mu.Unlock()
			return
		}
		if h.changed == nil {
			h.changed = make(chan struct{})
		}
		next := h.changed
		h.mu.Unlock()
		select {
		case <-next:
		case <-limit:
			t.Fatalf("%s: never; the journal has %v", what, h.texts(""))
		}
	}
}

// waitFor waits until so many requests are in the journal.
func (h *house) waitFor(t *testing.T, n int) []wire.Request {
	t.Helper()
	h.wait(t, fmt.Sprintf("%d requests", n), func() bool { return len(h.requests) >= n })
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// texts of a session in the order of the journal; "": of all.
func (h *house) texts(sid string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, r := range h.requests {
		if sid == "" || r.Session == sid {
			out = append(out, string(r.Text))
		}
	}
	return out
}

func (h *house) Submit(ctx context.Context, r wire.Request) (wire.Receipt, error) {
	h.mu.Lock()
	before := h.submit
	h.mu.Unlock()
	if before != nil {
		if err := before(ctx, r); err != nil {
			return wire.Receipt{}, err
		}
	}
	sid, err := session.Parse(r.Session)
	if err != nil {
		return wire.Receipt{}, fault.New(fault.Invalid, "session: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	receipt := wire.Receipt{MessageID: thread.MessageID(sid, r.Key), Session: sid, Status: wire.Pending}
	key := r.Session + " " + r.Key
	if h.known[key] == 0 {
		h.requests = append(h.requests, r)
		h.known[key] = len(h.requests)
		h.change()
	}
	receipt.Cursor, receipt.Passed = uint64(h.known[key]), h.passes == string(r.Text) && r.Text != ""
	return receipt, nil
}

func (h *house) Reply(ctx context.Context, r wire.ReplyRequest) (wire.Reply, error) {
	h.mu.Lock()
	answer := h.reply
	h.mu.Unlock()
	if answer != nil {
		return answer(r)
	}
	<-ctx.Done()
	return wire.Reply{}, context.Cause(ctx)
}

func (h *house) Files(_ context.Context, cursor uint64) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.requests[cursor-1].Files), nil
}

func (h *house) Quarantine(_ context.Context, s session.ID, key string, q messagev1.Quarantined) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s != "main.telegram.bot.quarantine" {
		return fault.New(fault.Invalid, "session %s", s)
	}
	h.bad[key] = q
	h.change()
	return nil
}

func (h *house) Judge(_ context.Context, a access.Attempt) (access.Verdict, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.judged = append(h.judged, a)
	h.change()
	if h.judge != nil {
		if err := h.judge(a); err != nil {
			return access.Verdict{}, err
		}
	}
	a.Code = "ABCDEFG" + string("HJK"[min(len(h.state.Requests(a.Now)), 2)])
	v := h.state.Judge(h.policy, a)
	if v.Request != nil {
		h.state = h.state.Apply(envelope.Event{Key: a.Key, Time: a.Now, Body: *v.Request})
	}
	return v, nil
}

func (h *house) Moved(_ context.Context, m accessv1.Moved) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.moves = append(h.moves, m)
	h.state = h.state.Apply(envelope.Event{Body: m})
	h.change()
	return nil
}

func (h *house) Keep(_ context.Context, _ session.ID, data []byte) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keep != nil {
		if err := h.keep(); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	h.files[digest] = data
	return digest, nil
}

func (h *house) Hold(ctx context.Context, lease string, fn func(context.Context) error) error {
	h.mu.Lock()
	if h.leases[lease] == nil {
		h.leases[lease] = make(chan struct{}, 1)
	}
	slot, lost := h.leases[lease], h.lost
	h.mu.Unlock()
	for {
		select {
		case slot <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		working, cancel := context.WithCancelCause(ctx)
		var watch sync.WaitGroup
		watch.Go(func() {
			select {
			case <-lost:
				cancel(bus.ErrLeaseLost)
			case <-working.Done():
			}
		})
		err := fn(working)
		gone := errors.Is(context.Cause(working), bus.ErrLeaseLost)
		cancel(nil)
		watch.Wait()
		<-slot
		if !gone || ctx.Err() != nil {
			return err
		}
		h.mu.Lock()
		lost = h.lost
		h.mu.Unlock()
	}
}

func (h *house) Value(_ context.Context, key string) ([]byte, bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v, ok := h.values[key]
	return v, ok, nil
}

func (h *house) SetValue(_ context.Context, key string, value []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.values[key] = value
	h.change()
	return nil
}

// tape is a log that a test can read.
type tape struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{} // closed at the next line; nil while nobody waits
}

// wait waits for a line that says so.
func (l *tape) wait(t *testing.T, text string) {
	t.Helper()
	limit := time.After(patience)
	for {
		l.mu.Lock()
		if l.more == nil {
			l.more = make(chan struct{})
		}
		more, said := l.more, strings.Contains(l.b.String(), text)
		l.mu.Unlock()
		if said {
			return
		}
		select {
		case <-more:
		case <-limit:
			t.Fatalf("the log never says %q:\n%s", text, l)
		}
	}
}

func (l *tape) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
	return l.b.Write(p)
}

func (l *tape) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// brisk is a pace for tests.
func brisk() Pace {
	return Pace{
		Poll: 50 * time.Second, Short: 10 * time.Millisecond, Album: 60 * time.Millisecond,
		RetryFirst: 2 * time.Millisecond, RetryMost: 10 * time.Millisecond,
		ConflictFirst: 5 * time.Millisecond, ConflictMost: 20 * time.Millisecond,
		Fetch: 5 * time.Second, Answer: 5 * time.Second, Durable: 5 * time.Second, Body: 500 * time.Millisecond, Drain: time.Second,
	}
}

// canary is what must be seen nowhere: the secret half of the token, and what people write.
const (
	canary  = "TEST-token_for-the-fake-Bot-API-server"
	whisper = "XYZZY"
)

// running is a channel at work.
type running struct {
	*Channel
	log    *tape
	cancel context.CancelFunc
	done   chan error
}

// stop ends the channel, and checks that its log tells nothing that it should not.
func (r *running) stop(t *testing.T) {
	t.Helper()
	r.cancel()
	select {
	case err := <-r.done:
		if err != nil {
			t.Errorf("run: %v", err)
		}
		r.done <- nil // for a second call
	case <-time.After(patience):
		t.Fatal("the channel does not stop")
	}
	for _, secret := range []string{canary, whisper} {
		if strings.Contains(r.log.String(), secret) {
			t.Errorf("the log tells %q:\n%s", secret, r.log)
		}
	}
}

func (r *running) logged(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.log.String(), text) {
			t.Errorf("the log does not say %q:\n%s", text, r.log)
		}
	}
}

// run starts a channel with one bot, "bot", and stops it at the end of the test.
func run(t *testing.T, h *house, api string, change ...func(*Config)) *running {
	t.Helper()
	log := &tape{}
	c := Config{
		Bots: []Bot{{Account: "bot", Agent: "main", Token: faketelegram.DefaultToken, APIRoot: api}},
		Desk: h, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), Pace: brisk(),
	}
	for _, f := range change {
		f(&c)
	}
	ch, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Channel: ch, log: log, cancel: cancel, done: make(chan error, 1)}
	go func() { r.done <- ch.Run(ctx) }()
	t.Cleanup(func() { r.stop(t) })
	if err := ch.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// fake starts a Bot API.
func fake(t *testing.T, o faketelegram.Options) *faketelegram.Server {
	t.Helper()
	o.Limits.Off = true
	s, err := faketelegram.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// until waits for the Bot API.
func until(t *testing.T, s *faketelegram.Server, what string, ok func(*faketelegram.Server) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Wait(ctx, ok); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// confirmed waits until the server needs to send nothing again.
func confirmed(t *testing.T, s *faketelegram.Server) {
	t.Helper()
	until(t, s, "all updates confirmed", func(s *faketelegram.Server) bool { return s.Report().Pending == 0 })
}

var (
	ann = faketelegram.User{ID: 1001, FirstName: "Ann", LastName: "Bee"}
	bob = faketelegram.User{ID: 1002, FirstName: "Bob"}
)

const annSession = "main.telegram.bot.1001"

func slogNone() *slog.Logger { return slog.New(slog.DiscardHandler) }
