package outbox_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/outbox"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

const web session.ID = "main.http.web.anna"

func TestMailbox(t *testing.T) {
	h := newHouse(t)
	h.run(t, outbox.Config{})
	h.show(t, web, "a", answer("one"))
	h.show(t, web, "b", turnv1.Cancelled{Answers: []string{"m2"}})
	h.show(t, web, "c", answer(""))
	h.show(t, web, "d", noticev1.Posted{Service: "turns", Text: "note"})
	events := h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 3 })
	expect(t, deliveries(t, events, web), "sent a/1", "sent b/1", "sent d/1")
}

// TestPushShowsWhatCommandsBring: each answer names the command, and what nobody asked for is not shown.
func TestPushShowsWhatCommandsBring(t *testing.T) {
	hook := newHook(t, func(int, call, http.ResponseWriter) {})
	h := newHouse(t)
	h.run(t, pushing(t, hook))
	sent := 0
	for id, b := range map[string]envelope.Body{
		"a": turnv1.SessionConfigured{By: "c1", Setting: turnv1.ModelSetting, Value: "x", Text: "The model is x."},
		"b": turnv1.SessionCompacted{By: "c2", Summary: "s", Text: "Compacted."},
		"c": turnv1.CompactionFailed{By: "c3", Text: "Not compacted."},
		"d": noticev1.Posted{Service: "turns", Text: "All is well.", Answers: []string{"c4", "c5"}},
		"e": turnv1.Cancelled{Answers: []string{"m1"}, Reason: turnv1.QueueFull, Text: "Too many wait."},
		"f": turnv1.Cancelled{Turn: "t", Answers: []string{"m2"}, Reason: turnv1.Stopped},
		"g": turnv1.SessionReset{By: "c6", Text: "A new beginning."},
	} {
		h.show(t, web, id+"0", turnv1.SessionCompacted{Summary: "s", Text: "by itself"})
		h.show(t, web, id+"1", turnv1.SessionReset{By: "c0"}) // as it once was
		h.show(t, web, id, b)
		sent++
		h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == sent }) // each rings by itself
	}
	var got []string
	for _, c := range hook.got() {
		got = append(got, fmt.Sprint(c.Delivery, " ", c.Kind, " ", c.Answers, " ", c.Text))
	}
	slices.Sort(got)
	expect(t, got,
		"a session.configured [c1] The model is x.",
		"b session.compacted [c2] Compacted.",
		"c compaction.failed [c3] Not compacted.",
		"d notice.posted [c4 c5] All is well.",
		"e turn.cancelled [m1] Too many wait.",
		"f turn.cancelled [m2] Stopped.",
		"g session.reset [c6] A new beginning.")
}

// TestPushShowsApprovals: each kind rings by itself and says which approval it is about.
func TestPushShowsApprovals(t *testing.T) {
	hook := newHook(t, func(int, call, http.ResponseWriter) {})
	h := newHouse(t)
	h.run(t, pushing(t, hook))
	ref := approvalv1.Ref{Approval: "abcdefghij2", Turn: "m1/t", Call: "c1"}
	for i, b := range []envelope.Body{
		approvalv1.Requested{Approval: ref.Approval, Text: "May it run?"},
		approvalv1.Decided{Ref: ref, Answers: []string{"d1"}, Text: "Allowed."},
		approvalv1.Expired{Ref: ref, Text: "Too late."},
		approvalv1.Voided{Ref: ref, Text: "Void."},
	} {
		h.show(t, web, fmt.Sprint("w", i), approvalv1.Cancelled{Ref: approvalv1.Ref{Approval: "neverasked2"}})
		h.show(t, web, fmt.Sprint("a", i), b)
		h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == i+1 })
	}
	h.show(t, web, "b1", approvalv1.Requested{Approval: "bbbbbbbbbb2", Text: "And this?"})
	h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 5 })
	h.show(t, web, "b2", approvalv1.Cancelled{Ref: approvalv1.Ref{Approval: "bbbbbbbbbb2"}})
	h.show(t, web, "z", answer("done"))
	h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 7 })
	var got []string
	for _, c := range hook.got() {
		got = append(got, fmt.Sprint(c.Delivery, " ", c.Kind, " ", c.Approval, " ", c.Answers, " ", c.Text))
	}
	expect(t, got,
		"a0 approval.requested abcdefghij2 [] May it run?",
		"a1 approval.decided abcdefghij2 [d1] Allowed.",
		"a2 approval.expired abcdefghij2 [] Too late.",
		"a3 approval.voided abcdefghij2 [] Void.",
		"b1 approval.requested bbbbbbbbbb2 [] And this?",
		"b2 approval.cancelled bbbbbbbbbb2 [] There is nothing to decide any more: what this was for has ended.",
		"z turn.completed  [m-done] done")
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestPushKeepsOrderOverFailures(t *testing.T) {
	hook := newHook(t, func(n int, _ call, w http.ResponseWriter) {
		if n <= 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(w, `{"receipt":"r%d"}`, n)
	})
	h := newHouse(t)
	h.run(t, pushing(t, hook))
	for _, id := range []string{"a", "b", "c"} {
		h.show(t, web, id, answer(id))
	}
	events := h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 3 })
	expect(t, deliveries(t, events, web),
		"started a/1", "deferred a/1", "started a/2", "deferred a/2", "started a/3", "sent a/3",
		"started b/1", "sent b/1", "started c/1", "sent c/1")
	for _, e := range events {
		if b, ok := e.Body.(deliveryv1.Sent); ok && !strings.HasPrefix(b.Receipt, "r") {
			t.Errorf("receipt %q", b.Receipt)
		}
	}
	for i, c := range hook.got() {
		if want := []string{"a", "a", "a", "b", "c"}[i]; c.Delivery != want || c.Text != want || c.Repeat {
			t.Errorf("call %d: %+v", i+1, c)
		}
	}
}

func TestPushWaitsAsLongAsItIsTold(t *testing.T) {
	hook := newHook(t, func(n int, _ call, w http.ResponseWriter) {
		if n == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	h := newHouse(t)
	h.run(t, pushing(t, hook))
	h.show(t, web, "a", answer("a"))
	h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 1 })
	calls := hook.got()
	if len(calls) != 2 || calls[1].at.Sub(calls[0].at) < time.Second {
		t.Errorf("calls: %+v", calls)
	}
}

func TestPushDoesNotRetryAPermanentError(t *testing.T) {
	hook := newHook(t, func(n int, _ call, w http.ResponseWriter) {
		if n == 1 {
			w.WriteHeader(http.StatusGone)
		}
	})
	h := newHouse(t)
	h.run(t, pushing(t, hook))
	h.show(t, web, "a", answer("a"))
	h.show(t, web, "b", turnv1.Failed{Text: "the model is gone"})
	events := h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 1 })
	expect(t, deliveries(t, events, web), "started a/1", "failed a/1", "started b/1", "sent b/1")
}

func TestPushGivesUp(t *testing.T) {
	hook := newHook(t, func(_ int, c call, w http.ResponseWriter) {
		if c.Delivery == "a" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	h := newHouse(t)
	c := pushing(t, hook)
	c.Limits.Attempts = 2
	h.run(t, c)
	h.show(t, web, "a", answer("a"))
	h.show(t, web, "b", answer("b"))
	events := h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 1 })
	expect(t, deliveries(t, events, web),
		"started a/1", "deferred a/1", "started a/2", "deferred a/2", "failed a/2", "started b/1", "sent b/1")
}

func TestPushWithoutAnAnswerIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		resend bool
		want   []string
	}{
		"resend": {true, []string{"started a/1", "unknown a/1", "started a/2 repeat", "sent a/2", "started b/1", "sent b/1"}},
		"hold":   {false, []string{"started a/1", "unknown a/1", "started b/1", "sent b/1"}},
	} {
		t.Run(name, func(t *testing.T) {
			hook := newHook(t, func(n int, _ call, w http.ResponseWriter) {
				if n == 1 {
					panic(http.ErrAbortHandler) // the connection is cut
				}
			})
			h := newHouse(t)
			conf := pushing(t, hook)
			conf.Limits.ResendUnknown = c.resend
			h.run(t, conf)
			h.show(t, web, "a", answer("a"))
			h.show(t, web, "b", answer("b"))
			events := h.until(t, func(e []envelope.Event) bool {
				return len(e) > 0 && slices.Contains(deliveries(t, e, web), "sent b/1")
			})
			expect(t, deliveries(t, events, web), c.want...)
			if calls := hook.got(); c.resend && !calls[1].Repeat {
				t.Errorf("the second call is not marked: %+v", calls[1])
			}
		})
	}
}

// TestPushHangs: the send is cut at its time limit by its own worker, well before anybody else may take over.
func TestPushHangs(t *testing.T) {
	release := make(chan struct{})
	hook := newHook(t, func(n int, _ call, _ http.ResponseWriter) {
		if n == 1 {
			<-release
		}
	})
	defer close(release)
	h := newHouse(t)
	c := pushing(t, hook)
	c.Limits.SendTime = 300 * time.Millisecond
	h.run(t, c)
	h.show(t, web, "a", answer("a"))
	events := h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 1 })
	expect(t, deliveries(t, events, web), "started a/1", "unknown a/1", "started a/2 repeat", "sent a/2")
	if calls := hook.got(); calls[1].at.Sub(calls[0].at) > 3*time.Second {
		t.Errorf("the repeat came %s later: only by a take-over", calls[1].at.Sub(calls[0].at))
	}
}

// TestPushKilled: the worker loses its bus between the claim and the outcome, as a killed one does.
func TestPushKilled(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	hook := newHook(t, func(n int, _ call, w http.ResponseWriter) {
		if n == 1 {
			close(arrived)
			<-release
		}
		_, _ = io.WriteString(w, "ok")
	})
	h := newHouse(t)
	first := h.run(t, pushing(t, hook))
	h.show(t, web, "a", answer("a"))
	h.show(t, web, "b", answer("b"))
	<-arrived
	first.conn.NATS().Close()
	close(release)
	first.stop()

	h.run(t, pushing(t, hook))
	events := h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 2 })
	expect(t, deliveries(t, events, web),
		"started a/1", "unknown a/1", "started a/2 repeat", "sent a/2", "started b/1", "sent b/1")
	calls := hook.got()
	if len(calls) != 3 || calls[0].Repeat || !calls[1].Repeat || calls[2].Repeat {
		t.Errorf("calls: %+v", calls)
	}
}

// TestPushDeleted: what a deleted session was owed is dropped, also when its send is under way.
func TestPushDeleted(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	hook := newHook(t, func(n int, _ call, _ http.ResponseWriter) {
		if n == 1 {
			close(arrived)
			<-release
		}
	})
	h := newHouse(t)
	h.run(t, pushing(t, hook))
	h.show(t, web, "a", answer("a"))
	<-arrived
	h.show(t, web, "gone", turnv1.SessionDeleted{})
	h.show(t, web, "b", answer("b"))
	close(release)
	events := h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 1 })
	expect(t, deliveries(t, events, web), "started a/1", "started b/1", "sent b/1")
}

// TestPushStops: a stop lets the send end and records it; the next item is left to the next run.
func TestPushStops(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	hook := newHook(t, func(n int, _ call, _ http.ResponseWriter) {
		if n == 1 {
			close(arrived)
			<-release
		}
	})
	h := newHouse(t)
	first := h.run(t, pushing(t, hook))
	h.show(t, web, "a", answer("a"))
	h.show(t, web, "b", answer("b"))
	<-arrived
	stopped := make(chan struct{})
	go func() { defer close(stopped); first.stop() }()
	close(release)
	<-stopped
	h.run(t, pushing(t, hook))
	events := h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 2 })
	if all := deliveries(t, events, web); slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, "unknown") }) {
		t.Errorf("a clean stop left something unknown: %v", all)
	}
}

// TestPushWithTwoWorkers: two outboxes share sessions whose channel fails now and then.
func TestPushWithTwoWorkers(t *testing.T) {
	const sessions, items = 8, 6
	hook := newHook(t, func(n int, _ call, w http.ResponseWriter) {
		if n%5 == 0 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	h := newHouse(t)
	c := pushing(t, hook)
	h.run(t, c)
	h.run(t, c)
	var want []string
	for i := range items {
		want = append(want, fmt.Sprintf("%d", i))
		for s := range sessions {
			h.show(t, session.ID(fmt.Sprintf("main.http.web.p%d", s)), fmt.Sprintf("p%d-%d", s, i), answer(fmt.Sprintf("%d", i)))
		}
	}
	events := h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == sessions*items })
	if n := count(events, "delivery.unknown") + count(events, "delivery.failed"); n > 0 {
		t.Errorf("%d deliveries unknown or failed without a reason", n)
	}
	for s := range sessions {
		id := session.ID(fmt.Sprintf("main.http.web.p%d", s))
		var texts []string
		for _, c := range hook.got() {
			if c.Session == id {
				texts = append(texts, c.Text)
			}
		}
		if texts = slices.Compact(texts); !slices.Equal(texts, want) { // a deferred one comes again, in its place
			t.Errorf("%s was shown %v", id, texts)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	h := newHouse(t)
	conn, log := h.bus.Connect(t, "outbox"), slog.New(slog.DiscardHandler)
	push := delivery.DefaultLimits()
	push.Routes["telegram"] = delivery.Push
	bad := delivery.DefaultLimits()
	bad.MaxAge = 0
	for name, c := range map[string]outbox.Config{
		"no connection":          {Log: log},
		"no logger":              {Conn: conn},
		"a nil sender":           {Conn: conn, Log: log, Senders: map[string]outbox.Sender{"http": nil}},
		"a push channel without": {Conn: conn, Log: log, Limits: push},
		"bad limits":             {Conn: conn, Log: log, Limits: bad},
	} {
		if _, err := outbox.New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if s, err := outbox.Callback(outbox.CallbackConfig{}); err == nil || s != nil {
		t.Errorf("a callback to nowhere: %v, %v", s, err)
	}
}
