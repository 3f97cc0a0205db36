package outbox_test

import (
	"context"
	"fmt"
	"log/slog"
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
	"github.com/jetclaw/jetclaw/services/outbox/channel"
)

const room session.ID = "main.telegram.bot.1"

// wall is a channel of messages that can be edited, on which parts of a text have at most ten bytes.
type wall struct {
	mu       sync.Mutex
	messages []string      // guarded by mu; as they are now
	history  []string      // guarded by mu
	slow     chan struct{} // nil, or gets one when an edit begins, which goes on when it is given one
	refuse   []error       // guarded by mu; what the next drafts come to
	changed  chan struct{}
}

func newWall() *wall { return &wall{changed: make(chan struct{}, 1000)} }

func (w *wall) note(format string, args ...any) {
	w.history = append(w.history, fmt.Sprintf(format, args...))
	w.changed <- struct{}{}
}

func (w *wall) put(receipt, text string) string {
	if receipt == "" {
		w.messages = append(w.messages, text)
		return fmt.Sprint(len(w.messages))
	}
	var n int
	if _, err := fmt.Sscan(receipt, &n); err != nil {
		panic(err)
	}
	w.messages[n-1] = text
	return receipt
}

func (w *wall) Send(_ context.Context, i channel.Item) (channel.Receipt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	parts := slices.Collect(slices.Chunk([]byte(i.Text), 10))
	at := ""
	if i.Part == 0 {
		at = i.Draft
	}
	if i.Prompt != nil {
		at, parts = i.Prompt.Receipt, [][]byte{[]byte(i.Prompt.Text + " " + i.Text)}
	}
	r := channel.Receipt{ID: w.put(at, string(parts[i.Part])), More: i.Part+1 < len(parts)}
	again := ""
	if i.Repeat {
		again = " again"
	}
	w.note("send %s/%d%s", i.Kind, i.Part, again)
	return r, nil
}

func (w *wall) Typing(context.Context, session.ID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note("typing")
	return nil
}

func (w *wall) Streams(session.ID) bool { return true }

func (w *wall) Draft(_ context.Context, _ session.ID, receipt, text string) (string, error) {
	if w.slow != nil && receipt != "" {
		w.slow <- struct{}{}
		<-w.slow
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.refuse) > 0 {
		err := w.refuse[0]
		w.refuse = w.refuse[1:]
		w.note("no draft")
		return receipt, err
	}
	defer w.note("draft")
	return w.put(receipt, text), nil
}

// until waits for the channel to have seen something.
func (w *wall) until(t *testing.T, what string) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		w.mu.Lock()
		seen := slices.Contains(w.history, what)
		history := strings.Join(w.history, ", ")
		w.mu.Unlock()
		if seen {
			return
		}
		select {
		case <-w.changed:
		case <-limit.C:
			t.Fatalf("no %q: %s", what, history)
		}
	}
}

func (w *wall) shows(t *testing.T, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.messages, want) {
		t.Errorf("shown: %q, want %q; %v", w.messages, want, w.history)
	}
}

// newRoom is a bus with an outbox that shows things on a wall, the connections of those who have something to show, and what waits for events.
func newRoom(t *testing.T, w *wall) (*bus.Conn, *bus.Conn, func(events ...string)) {
	t.Helper()
	srv := bustest.New(t, outbox.Spec(), bus.Spec{Name: "turns", Live: true, Appends: []string{
		"turn.started", "turn.stepped", "turn.continued", "turn.completed", "turn.failed",
	}}, bus.Spec{Name: "approvals", Appends: []string{"approval.requested", "approval.decided"}})
	o, err := outbox.New(outbox.Config{Conn: srv.Connect(t, "outbox"), Senders: map[string]outbox.Sender{"telegram": w}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if err := o.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	reads := srv.Admin()
	await := func(kinds ...string) {
		t.Helper()
		limit, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		found := 0
		err := reads.Follow(limit, bus.ReplayOptions{}, func(e envelope.Event) error {
			if found < len(kinds) && e.Kind() == kinds[found] {
				found++
			}
			if found == len(kinds) {
				cancel()
			}
			return nil
		})
		if found < len(kinds) {
			t.Fatalf("no %v in this order: %v", kinds[found:], err)
		}
	}
	return srv.Connect(t, "turns"), srv.Connect(t, "approvals"), await
}

func says(t *testing.T, c *bus.Conn, turn string, round, n int, text string) {
	t.Helper()
	err := c.PublishLive(room, map[string]any{"type": "delta", "turn": turn, "round": round, "attempt": 1, "n": n, "text": text})
	if err != nil {
		t.Fatal(err)
	}
}

func tell(t *testing.T, c *bus.Conn, id string, b envelope.Body) {
	t.Helper()
	if _, err := c.Journal().AppendFact(t.Context(), envelope.Event{ID: id, Session: room, Key: id, Body: b}, 0); err != nil {
		t.Fatal(err)
	}
}

// TestAnswersAreShownWhileTheyCome: what a model says before its calls stays as a message, the answer becomes the last one, in
// parts; a question is shown between them and says how it was settled.
func TestAnswersAreShownWhileTheyCome(t *testing.T) {
	w := newWall()
	turns, approvals, await := newRoom(t, w)
	of := turnv1.Outcome{Turn: "m1/t", Round: 1, Attempt: 1}
	tell(t, turns, "s1", turnv1.Started{Claim: turnv1.Claim{Turn: "m1/t", Round: 1, Attempt: 1}})
	w.until(t, "typing")
	says(t, turns, "m1/t", 1, 1, "I look ")
	await("delivery.drafting", "delivery.drafted")
	w.shows(t, "I look ")
	tell(t, turns, "s2", turnv1.Stepped{Outcome: of, Text: "I look up."})
	w.until(t, "send turn.stepped/0")
	tell(t, approvals, "p1", approvalv1.Requested{Approval: "abcdefghij2", Text: "May I?"})
	await("approval.requested", "delivery.sent")
	tell(t, approvals, "p2", approvalv1.Decided{Ref: approvalv1.Ref{Approval: "abcdefghij2"}, Text: "Yes."})
	w.until(t, "send approval.decided/0")
	w.shows(t, "I look up.", "May I? Yes.")

	tell(t, turns, "s3", turnv1.Continued{Claim: turnv1.Claim{Turn: "m1/t", Round: 2, Attempt: 1}})
	says(t, turns, "m1/t", 2, 1, "It is")
	await("turn.continued", "delivery.drafting", "delivery.drafted")
	of.Round = 2
	tell(t, turns, "s4", turnv1.Completed{Outcome: of, Text: "It is sunny today.", Answers: []string{"m1"}})
	w.until(t, "send turn.completed/1")
	w.shows(t, "I look up.", "May I? Yes.", "It is sunn", "y today.")
}

// TestNoDraftOfAShortAnswer: it is there before a draft would help.
func TestNoDraftOfAShortAnswer(t *testing.T) {
	w := newWall()
	turns, _, _ := newRoom(t, w)
	tell(t, turns, "s1", turnv1.Started{Claim: turnv1.Claim{Turn: "m1/t", Round: 1, Attempt: 1}})
	says(t, turns, "m1/t", 1, 1, "Yes")
	tell(t, turns, "s2", turnv1.Completed{Outcome: turnv1.Outcome{Turn: "m1/t", Round: 1, Attempt: 1}, Text: "Yes.", Answers: []string{"m1"}})
	w.until(t, "send turn.completed/0")
	w.shows(t, "Yes.")
}

// TestDraftsAreTriedAgain: a channel that has no room for a moment, or fails, still shows the rest of what is said.
func TestDraftsAreTriedAgain(t *testing.T) {
	w := newWall()
	turns, _, await := newRoom(t, w)
	w.refuse = []error{&channel.Error{Class: channel.Retry, Untried: true, Reason: "no room"}}
	tell(t, turns, "s1", turnv1.Started{Claim: turnv1.Claim{Turn: "m1/t", Round: 1, Attempt: 1}})
	says(t, turns, "m1/t", 1, 1, "I look ")
	await("delivery.drafting", "delivery.drafted", "delivery.drafting", "delivery.drafted")
	w.shows(t, "I look ")
	w.mu.Lock()
	w.refuse = []error{channel.Errorf(channel.Retry, "a gateway")}
	w.history = nil
	w.mu.Unlock()
	says(t, turns, "m1/t", 1, 2, "it ")
	w.until(t, "no draft")
	says(t, turns, "m1/t", 1, 3, "up")
	w.until(t, "draft")
	w.shows(t, "I look it up")
}

// TestADraftThatMayBeThere: nobody knows whether it was posted, and so the answer may be a repeat of it, and says so.
func TestADraftThatMayBeThere(t *testing.T) {
	w := newWall()
	turns, _, await := newRoom(t, w)
	w.refuse = []error{channel.Errorf(channel.Unknown, "no answer")}
	tell(t, turns, "s1", turnv1.Started{Claim: turnv1.Claim{Turn: "m1/t", Round: 1, Attempt: 1}})
	says(t, turns, "m1/t", 1, 1, "Yes")
	await("delivery.drafting")
	w.until(t, "no draft")
	of := turnv1.Outcome{Turn: "m1/t", Round: 1, Attempt: 1}
	tell(t, turns, "s2", turnv1.Completed{Outcome: of, Text: "Yes.", Answers: []string{"m1"}})
	w.until(t, "send turn.completed/0 again")
}

// TestADraftIsOfOneAttempt: what an attempt before it says is not in it, nor what follows a piece that was lost.
func TestADraftIsOfOneAttempt(t *testing.T) {
	w := newWall()
	turns, _, await := newRoom(t, w)
	tell(t, turns, "s1", turnv1.Started{Claim: turnv1.Claim{Turn: "m1/t", Round: 1, Attempt: 1}})
	for _, p := range []struct {
		attempt, n int
		text       string
	}{{1, 1, "old "}, {2, 1, "new "}, {1, 2, "older "}, {2, 2, "words"}, {2, 4, "after a gap"}, {2, 5, "and so on"}} {
		err := turns.PublishLive(room, map[string]any{"type": "delta", "turn": "m1/t", "round": 1, "attempt": p.attempt, "n": p.n, "text": p.text})
		if err != nil {
			t.Fatal(err)
		}
	}
	await("delivery.drafting", "delivery.drafted")
	w.shows(t, "new words")
}

// TestTheLastEditIsTheAnswer: an edit that is under way when the model has spoken does not come after the answer.
func TestTheLastEditIsTheAnswer(t *testing.T) {
	w := newWall()
	turns, _, await := newRoom(t, w)
	w.slow = make(chan struct{})
	tell(t, turns, "s1", turnv1.Started{Claim: turnv1.Claim{Turn: "m1/t", Round: 1, Attempt: 1}})
	says(t, turns, "m1/t", 1, 1, "I ")
	await("delivery.drafting", "delivery.drafted")
	w.mu.Lock()
	w.history = nil
	w.mu.Unlock()
	says(t, turns, "m1/t", 1, 2, "think")
	<-w.slow // an edit is under way
	tell(t, turns, "s2", turnv1.Completed{Outcome: turnv1.Outcome{Turn: "m1/t", Round: 1, Attempt: 1}, Text: "I thought.", Answers: []string{"m1"}})
	await("turn.completed", "delivery.started")
	w.slow <- struct{}{}
	w.until(t, "draft")
	w.until(t, "send turn.completed/0")
	w.shows(t, "I thought.")
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := w.history[len(w.history)-1]; last != "send turn.completed/0" {
		t.Errorf("%v", w.history)
	}
}
