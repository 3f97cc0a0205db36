package intake

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

func completed(cursor uint64, text string, answers ...string) envelope.Event {
	return envelope.Event{Session: "main.http.a.b", Cursor: cursor, Body: turnv1.Completed{Answers: answers, Text: text}}
}

func TestBoard(t *testing.T) {
	now := time.Unix(1000, 0)
	one := topic{"main.http.a.b", "m1"}
	for _, tc := range []struct {
		name    string
		do      func(b *board)
		want    string // text of the outcome
		pending bool
	}{
		{name: "nothing is known", do: func(*board) {}},
		{name: "in flight proves nothing", do: func(b *board) { b.expect(one) }},
		{name: "taken", do: func(b *board) { b.expect(one); b.taken(one, now) }, pending: true},
		{name: "not believed for ever", do: func(b *board) { b.expect(one); b.taken(one, now.Add(-believed)) }},
		{name: "failed to append", do: func(b *board) { b.expect(one); b.drop(one) }},
		{name: "answered", do: func(b *board) { b.expect(one); b.taken(one, now); b.news(completed(3, "hi", "m0", "m1")) }, want: "hi"},
		{
			name: "answered before the acknowledgement",
			do:   func(b *board) { b.expect(one); b.news(completed(3, "hi", "m1")); b.taken(one, now) }, want: "hi",
		},
		{
			name: "the first outcome stays",
			do: func(b *board) {
				b.expect(one)
				b.news(completed(3, "hi", "m1"))
				b.news(completed(4, "ho", "m1"))
				b.expect(one)
			},
			want: "hi",
		},
		{name: "told", do: func(b *board) {
			b.expect(one)
			b.news(envelope.Event{Session: one.session, Body: noticev1.Posted{Service: "turns", Text: "so", Answers: []string{"m1"}}})
		}, want: "so"},
		{name: "told by another service", do: func(b *board) {
			b.expect(one)
			b.taken(one, now)
			b.news(envelope.Event{Session: one.session, Body: noticev1.Posted{Service: "tools", Text: "so", Answers: []string{"m1"}}})
		}, pending: true},
		{name: "a stop is done with what it stops", do: func(b *board) {
			b.expect(one)
			b.taken(one, now)
			b.news(envelope.Event{Session: one.session, Body: turnv1.Cancelled{Answers: []string{"m0"}, By: "m1", Text: "Stopped it."}})
		}, want: "Stopped it."},
		{name: "a message that takes another's place goes on", do: func(b *board) {
			b.expect(one)
			b.taken(one, now)
			b.news(envelope.Event{Session: one.session, Body: turnv1.Cancelled{Answers: []string{"m0"}, By: "m1", Reason: turnv1.Interrupted}})
		}, pending: true},
		{name: "begun afresh", do: func(b *board) {
			b.expect(one)
			b.news(envelope.Event{Session: one.session, Body: turnv1.SessionReset{By: "m1"}})
		}, want: resetText},
		{name: "deleted with its session", do: func(b *board) {
			b.expect(one)
			b.news(completed(3, "hi", "m1"))
			b.news(envelope.Event{Session: one.session, Body: turnv1.SessionDeleted{}})
		}},
		{name: "another session is deleted", do: func(b *board) {
			b.expect(one)
			b.news(completed(3, "hi", "m1"))
			b.news(envelope.Event{Session: "main.http.a.c", Body: turnv1.SessionDeleted{}})
		}, want: "hi"},
		{name: "somebody is asked, perhaps about this", do: func(b *board) {
			b.expect(one)
			b.taken(one, now)
			b.news(envelope.Event{Session: one.session, Body: approvalv1.Requested{}})
		}},
		{name: "somebody is asked before the acknowledgement", do: func(b *board) {
			b.expect(one)
			b.news(envelope.Event{Session: one.session, Body: approvalv1.Requested{}})
			b.taken(one, now)
		}},
		{name: "somebody is asked in another session", do: func(b *board) {
			b.expect(one)
			b.taken(one, now)
			b.news(envelope.Event{Session: "main.http.a.c", Body: approvalv1.Requested{}})
		}, pending: true},
		{name: "somebody was asked before it was answered", do: func(b *board) {
			b.expect(one)
			b.news(envelope.Event{Session: one.session, Body: approvalv1.Requested{}})
			b.news(completed(3, "hi", "m1"))
		}, want: "hi"},
		{name: "decided", do: func(b *board) {
			b.expect(one)
			b.news(envelope.Event{Session: one.session, Body: approvalv1.Decided{Text: "Allowed.", Answers: []string{"m1"}}})
		}, want: "Allowed."},
		{name: "told by approvals", do: func(b *board) {
			b.expect(one)
			b.news(envelope.Event{Session: one.session, Body: noticev1.Posted{Service: "approvals", Text: "Too late.", Answers: []string{"m1"}}})
		}, want: "Too late."},
		{name: "a message of others", do: func(b *board) { b.news(completed(3, "hi", "m1")) }},
		{
			name: "the oldest goes",
			do: func(b *board) {
				b.expect(one)
				b.taken(one, now)
				for i := range boardNotes {
					b.expect(topic{"main.http.a.b", strconv.Itoa(i)})
				}
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBoard()
			tc.do(b)
			o, pending := b.look(one, now)
			text := ""
			if o != nil {
				text = o.text
			}
			if text != tc.want || pending != tc.pending {
				t.Errorf("outcome %q, pending %v", text, pending)
			}
			if len(b.notes) > boardNotes {
				t.Errorf("%d notes", len(b.notes))
			}
		})
	}
}

func TestBoardKeepsNoLongTexts(t *testing.T) {
	b, one := newBoard(), topic{"main.http.a.b", "m1"}
	w := b.wait(one)
	b.expect(one)
	long := strings.Repeat("x", boardText+1)
	b.news(completed(3, long, "m1"))
	if o := <-w; o.text != long || o.partly {
		t.Error("a waiter gets the whole text")
	}
	if o, _ := b.look(one, time.Now()); !o.partly || o.text != "" || o.cursor != 3 {
		t.Errorf("kept: %+v", o)
	}
}

func TestBoardWaiters(t *testing.T) {
	b, one := newBoard(), topic{"main.http.a.b", "m1"}
	first, second, third := b.wait(one), b.wait(one), b.wait(one)
	b.leave(one, first)
	b.news(completed(3, "hi", "m1"))
	for _, w := range []chan outcome{second, third} {
		if o := <-w; o.status != thread.Completed || o.text != "hi" {
			t.Errorf("told %+v", o)
		}
		b.leave(one, w)
	}
	select {
	case o := <-first:
		t.Errorf("told %+v after it left", o)
	default:
	}
	b.leave(one, first)
	if len(b.waiters) != 0 {
		t.Errorf("%d topics are still waited for", len(b.waiters))
	}
}

// TestBoardHints: a hint does not take the room of the outcome, however many come before anybody reads.
func TestBoardHints(t *testing.T) {
	b, one := newBoard(), topic{"main.http.a.b", "m1"}
	w, other := b.wait(one), b.wait(topic{"main.http.a.c", "m1"})
	asked := envelope.Event{Session: one.session, Body: approvalv1.Requested{}}
	for range 3 {
		b.news(asked)
	}
	if o := <-w; !o.asked {
		t.Errorf("told %+v", o)
	}
	b.news(asked)
	b.news(completed(3, "hi", "m1"))
	b.news(asked) // it is gone from the list
	if first, second := <-w, <-w; !first.asked || second.asked || second.text != "hi" {
		t.Errorf("told %+v, then %+v", first, second)
	}
	select {
	case o := <-w:
		t.Errorf("told %+v after the outcome", o)
	case o := <-other:
		t.Errorf("another session is told %+v", o)
	default:
	}
	if len(b.waiters) != 1 {
		t.Errorf("%d topics are waited for", len(b.waiters))
	}
}
