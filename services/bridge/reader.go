package bridge

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/bridge/event"
)

// reader follows the journal once for all clients. It outlives connections: each new one goes on where the last one ended.
type reader struct {
	mu      sync.Mutex
	ring    ring          // guarded by mu
	begun   bool          // guarded by mu: it has a place in the journal
	made    time.Time     // guarded by mu; when the journal was made
	start   uint64        // guarded by mu: the journal's end when it began
	changed chan struct{} // guarded by mu; closed and replaced with each change
	kinds   *kinds        // of the one goroutine that follows
}

func newReader() *reader { return &reader{changed: make(chan struct{}), kinds: newKinds()} }

// follow reads on until ctx ends or the connection does not answer any more.
func (r *reader) follow(ctx context.Context, conn *bus.Conn) error {
	u, err := conn.Journal().Usage(ctx)
	if err != nil {
		return err
	}
	from := r.attach(u)
	var failed error
	err = conn.Follow(ctx, bus.ReplayOptions{From: from + 1}, func(ev envelope.Event) error {
		executor, err := r.kinds.of(ctx, conn, ev)
		if err != nil {
			failed = err // of whatever kind: to go on would leave this event out
			return errStopped
		}
		r.take(ev, event.Of(ev, executor))
		return nil
	})
	if failed != nil {
		return failed
	}
	return err
}

var errStopped = errors.New("an event could not be taken")

// attach is where to go on in a journal. One that was made at another time, or ends before, is another one: what was read of the old
// one is dropped.
func (r *reader) attach(u bus.Usage) (from uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := u.Last; !r.begun || last < r.ring.upto || !r.made.Equal(u.Created) {
		r.begun, r.made, r.start, r.ring = true, u.Created, last, ring{from: last, upto: last, room: r.ring.room}
		r.wake()
	}
	return r.ring.upto
}

func (r *reader) take(ev envelope.Event, events []event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ring.skip(ev.Cursor)
	r.ring.chain(ev.Session, ev.Prev, ev.Cursor)
	if _, ok := ev.Body.(turnv1.SessionDeleted); ok {
		r.ring.forget(ev.Session, ev.Cursor)
	}
	r.ring.add(ev.Cursor, events)
	r.wake()
}

// wake is called with mu held.
func (r *reader) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// look is what the memory has for a query, and what is closed when there is more. ok is false when the journal has to be asked.
func (r *reader) look(q query) (p page, changed <-chan struct{}, ok bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.begun:
		return page{}, r.changed, false, errNoJournal
	case q.after > r.ring.upto:
		return page{}, r.changed, false, fault.New(fault.Invalid,
			"after_cursor %d is not of this journal, which ends at %d: take one that a tool of this server has given", q.after, r.ring.upto)
	case !r.ring.covers(q.after):
		return page{}, r.changed, false, nil
	}
	return r.ring.page(q), r.changed, true, nil
}

// errNoJournal says that no jetclaw was reached yet.
var errNoJournal = errors.New("the journal was not reached yet")

// ends are the cursor at which it began, and how far it is.
func (r *reader) ends() (start, upto uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.start, r.ring.upto, r.begun
}

// news is closed when something has changed.
func (r *reader) news() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// pastTime bounds one look into the journal: what was found by then is a page, and the client asks for the next.
const pastTime = 5 * time.Second

var errFull = errors.New("the page is full")

// past reads a page from the journal itself.
func past(ctx context.Context, conn *bus.Conn, q query, upto uint64) (page, error) {
	began := time.Now()
	p, k, m := page{next: upto}, newKinds(), missing{seen: q.after}
	err := conn.Replay(ctx, bus.ReplayOptions{From: q.after + 1, To: upto, Session: q.session}, func(ev envelope.Event) error {
		executor, err := k.of(ctx, conn, ev)
		if err != nil {
			return err
		}
		for _, e := range event.Of(ev, executor) {
			if !q.wants(e) {
				continue
			}
			if e = q.shown(e); p.full(q, e) {
				return errFull
			}
			p.add(e)
		}
		m.note(q, ev)
		if time.Since(began) > pastTime {
			p.next, p.more = ev.Cursor, true
			return errFull
		}
		return nil
	})
	switch {
	case err == nil && q.session == "" && m.seen < upto: // what tells of it lies behind the page
		m.found(hole{first: m.seen + 1, last: upto, next: upto + 1})
	case err != nil && !errors.Is(err, errFull):
		return page{}, err
	}
	p.gap = gapIn(m.holes, q, p.next)
	return p, nil
}

// missing looks for the first hole in what is read.
type missing struct {
	seen  uint64 // the last cursor that was there
	holes []hole // one at most
}

func (m *missing) note(q query, ev envelope.Event) {
	switch {
	case q.session == "" && ev.Cursor > m.seen+1:
		m.found(hole{first: m.seen + 1, last: ev.Cursor - 1, next: ev.Cursor})
	case q.session != "" && ev.Prev > q.after && ev.Prev != m.seen: // others' events lie between: its own chain says what is missing
		m.found(hole{session: q.session, first: ev.Prev, last: ev.Prev, next: ev.Cursor})
	}
	m.seen = ev.Cursor
}

func (m *missing) found(h hole) {
	if len(m.holes) == 0 {
		m.holes = []hole{h}
	}
}
