package intake

import (
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

const (
	boardNotes = 1024    // messages remembered
	boardText  = 4 << 10 // bytes; a longer answer is remembered by its cursor only
	// believed is how long a note without an outcome proves that there is none. News is lossy: after that time the
	// journal is asked.
	believed = 2 * time.Second
)

// topic names one message.
type topic struct {
	session session.ID
	id      string
}

// outcome is what became of a message or a command.
type outcome struct {
	status thread.Status
	text   string
	cause  string
	cursor uint64
	partly bool // text was left out: it is in the journal at cursor
	gone   bool // nothing is known any more: the session was deleted
	asked  bool // nothing has ended: somebody is asked for an approval, and the journal says for whose messages

	decision callv1.Decision   // of a decision that counts
	open     []thread.Approval // what a pending message waits for
}

// note remembers a message that this process appended.
type note struct {
	since   time.Time // when its append was acknowledged; zero until then
	outcome *outcome  // nil while it is pending
	asked   bool      // an approval was requested in its session: a note without an outcome proves nothing any more
}

// board is where news of this process's own messages meets those who wait for it, so that a question for a reply that
// follows its message needs no read of the journal. It is a cache: bounded, lossy, oldest out first, and every answer
// that it cannot give comes from the fold.
type board struct {
	mu      sync.Mutex
	notes   map[topic]*note          // guarded by mu; at most boardNotes
	ring    [boardNotes]topic        // guarded by mu; the keys of notes in order of age
	next    int                      // guarded by mu; the oldest of ring
	waiters map[topic][]chan outcome // guarded by mu; each has room for a hint and an outcome
}

func newBoard() *board {
	return &board{notes: make(map[topic]*note), waiters: make(map[topic][]chan outcome)}
}

// expect makes a note before the message is appended, since its outcome can be faster than the acknowledgement.
func (b *board) expect(t topic) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.notes[t]; ok {
		return
	}
	delete(b.notes, b.ring[b.next])
	b.notes[t], b.ring[b.next] = &note{}, t
	b.next = (b.next + 1) % boardNotes
}

// taken says that the message is in the journal since now.
func (b *board) taken(t topic, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n, ok := b.notes[t]; ok {
		n.since = now
	}
}

// drop forgets a message whose append failed.
func (b *board) drop(t topic) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.notes, t)
}

// settle tells an outcome to the notes and to all who wait.
func (b *board) settle(t topic, o outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n, ok := b.notes[t]; ok && n.outcome == nil {
		kept := o
		if len(kept.text) > boardText {
			kept.text, kept.partly = "", true
		}
		n.outcome = &kept
	}
	for _, w := range b.waiters[t] {
		w <- o // it has room: a waiter is told an outcome once and then gone from here
	}
	delete(b.waiters, t)
}

// look tells what is known at a time: an outcome, or that the message is pending, or nothing (nil, false).
func (b *board) look(t topic, now time.Time) (_ *outcome, pending bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, ok := b.notes[t]
	if !ok {
		return nil, false
	}
	return n.outcome, n.outcome == nil && !n.asked && !n.since.IsZero() && now.Sub(n.since) < believed
}

// wait registers for the outcome, and for hints; leave has to follow.
func (b *board) wait(t topic) chan outcome {
	w := make(chan outcome, 2)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiters[t] = append(b.waiters[t], w)
	return w
}

func (b *board) leave(t topic, w chan outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.waiters[t]
	for i, other := range list {
		if other != w {
			continue
		}
		if len(list) == 1 {
			delete(b.waiters, t)
			return
		}
		list[i] = list[len(list)-1]
		list[len(list)-1] = nil
		b.waiters[t] = list[:len(list)-1]
		return
	}
}

// news takes an event that ends messages or commands, or all of a session, or that asks for an approval.
func (b *board) news(e envelope.Event) {
	switch e.Body.(type) {
	case turnv1.SessionDeleted:
		b.forget(e.Session)
		return
	case approvalv1.Requested:
		b.asked(e.Session)
		return
	}
	for _, end := range thread.Ends(e.Body) {
		o := outcomeOf(e, end.Status)
		for _, id := range end.IDs {
			b.settle(topic{e.Session, id}, o)
		}
	}
}

// asked hints to all who wait in a session that they should look into the journal, and ends the belief that nothing has
// happened to its messages. Which of them the turn is about only a fold knows; there are few, and approvals are rare.
func (b *board) asked(s session.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for t, n := range b.notes {
		if t.session == s {
			n.asked = true
		}
	}
	for t, waiters := range b.waiters {
		if t.session != s {
			continue
		}
		for _, w := range waiters {
			if len(w) == 0 { // one hint is enough, and the outcome keeps its room
				w <- outcome{asked: true}
			}
		}
	}
}

// forget drops what is known of a deleted session. Who waits for something of it looks into the journal.
func (b *board) forget(s session.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for t := range b.notes {
		if t.session == s {
			delete(b.notes, t)
		}
	}
	for t, waiters := range b.waiters {
		if t.session != s {
			continue
		}
		for _, w := range waiters {
			w <- outcome{gone: true} // it has room, as in settle
		}
		delete(b.waiters, t)
	}
}
