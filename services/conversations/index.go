package conversations

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/conversations/conversation"
	"github.com/jetclaw/jetclaw/services/conversations/internal/store"
)

const (
	batchTime   = 250 * time.Millisecond // from its first event until a batch is written
	batchEvents = 500
	// cacheSessions is how many folded sessions stay in memory: a kilobyte each, mostly.
	cacheSessions = 1024
	ahead         = 256 // events that may wait for the writer
)

// houseChannel is that of the house's own sessions, which are no conversations.
const houseChannel = "house"

// index is one open file and who writes it: a queue of events (ordered, bounded, lossless, blocking) and one writer.
type index struct {
	store  *store.Store
	mark   store.Mark     // as it was opened
	whole  uint64         // until this cursor a file that was begun lacks what was there before; 0 for an old one
	users  sync.WaitGroup // questions at work; Add only while it is the Service's index
	fail   func(error)    // ends its use
	events chan envelope.Event
	asks   chan waiter
	done   atomic.Uint64 // cursor of the last event that is in the file

	// Of the writer alone.
	batch    store.Batch
	count    int // of events in batch
	sessions map[session.ID]*entry
	dirty    []*entry // with changes in batch
	key      int64    // the highest that a session has
	waiting  []waiter
}

// entry is a session in memory.
type entry struct {
	id    session.ID
	key   int64
	state conversation.State
	dirty bool
	used  uint64 // cursor of its last event
}

// waiter wants a cursor to be written; reached is closed once it is.
type waiter struct {
	cursor  uint64
	reached chan struct{}
}

func newIndex(st *store.Store, mark store.Mark) *index {
	x := &index{
		store: st, mark: mark, events: make(chan envelope.Event, ahead), asks: make(chan waiter), fail: func(error) {},
		sessions: map[session.ID]*entry{}, key: mark.Key,
	}
	x.done.Store(mark.Cursor)
	return x
}

// write writes what comes until ctx ends. What has come by then is written, too.
func (x *index) write(ctx context.Context) error {
	limit := time.NewTimer(0)
	defer limit.Stop()
	<-limit.C
	for {
		select {
		case ev := <-x.events:
			if x.count == 0 {
				limit.Reset(batchTime)
			}
			if err := x.add(ctx, ev); err != nil {
				return err
			}
			if x.count < batchEvents && !x.wanted() {
				continue
			}
		case a := <-x.asks:
			if x.done.Load() >= a.cursor {
				close(a.reached)
				continue
			}
			if x.waiting = append(x.waiting, a); !x.wanted() {
				continue // it is on its way
			}
		case <-limit.C:
		case <-ctx.Done():
			if err := x.commit(); err != nil {
				return err
			}
			return context.Cause(ctx)
		}
		if err := x.commit(); err != nil {
			return err
		}
	}
}

// wanted says whether somebody waits for what the batch has.
func (x *index) wanted() bool {
	for _, a := range x.waiting {
		if a.cursor <= x.batch.Cursor {
			return true
		}
	}
	return false
}

// add folds an event.
func (x *index) add(ctx context.Context, ev envelope.Event) error {
	x.count++
	x.batch.Cursor, x.batch.Event = ev.Cursor, ev.ID
	if ev.Session.Channel() == houseChannel {
		return nil
	}
	e, err := x.entry(ctx, ev.Session)
	if err != nil {
		return err
	}
	var c conversation.Change
	e.state, c = e.state.Apply(ev)
	e.used = ev.Cursor
	if c.Message != nil || c.Edited != "" || c.Deleted {
		x.batch.Changes = append(x.batch.Changes, store.Change{
			Key: e.key, Message: c.Message, Edited: c.Edited, Text: c.Text, Deleted: c.Deleted,
		})
	}
	if c.Deleted { // what may follow is another row
		x.key++
		e.key = x.key
	}
	if !e.dirty {
		e.dirty = true
		x.dirty = append(x.dirty, e)
	}
	return nil
}

// entry is a session as it is after what the batch has so far.
func (x *index) entry(ctx context.Context, id session.ID) (*entry, error) {
	if e, ok := x.sessions[id]; ok {
		return e, nil
	}
	row, ok, err := x.store.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	e := &entry{id: id, key: row.Key, state: row.State}
	if !ok {
		x.key++
		e.key = x.key
	}
	x.sessions[id] = e
	return e, nil
}

// commit writes the batch.
func (x *index) commit() error {
	if x.count == 0 {
		return nil
	}
	for _, e := range x.dirty {
		e.dirty = false
		if e.state.Events > 0 { // else it was deleted
			x.batch.Sessions = append(x.batch.Sessions, store.Session{Key: e.key, ID: e.id, Label: label(e), State: e.state})
		}
	}
	if err := x.store.Write(x.batch); err != nil {
		return err
	}
	x.done.Store(x.batch.Cursor)
	clear(x.batch.Changes) // their texts
	clear(x.batch.Sessions)
	x.batch.Changes, x.batch.Sessions, x.dirty, x.count = x.batch.Changes[:0], x.batch.Sessions[:0], x.dirty[:0], 0
	x.tell()
	x.forget()
	return nil
}

// tell tells those who wait for what is written now.
func (x *index) tell() {
	rest := x.waiting[:0]
	for _, a := range x.waiting {
		if a.cursor <= x.done.Load() {
			close(a.reached)
		} else {
			rest = append(rest, a)
		}
	}
	clear(x.waiting[len(rest):])
	x.waiting = rest
}

// forget keeps the memory bounded: the half that was not active for longest goes.
func (x *index) forget() {
	if len(x.sessions) <= cacheSessions {
		return
	}
	used := make([]uint64, 0, len(x.sessions))
	for _, e := range x.sessions {
		used = append(used, e.used)
	}
	oldest := median(used)
	for id, e := range x.sessions {
		if e.used <= oldest {
			delete(x.sessions, id)
		}
	}
}

// label is what a list is searched for.
func label(e *entry) string {
	list := []string{e.state.Title, string(e.id), e.id.Peer()}
	for _, p := range e.state.People {
		list = append(list, p.ID, p.Name)
	}
	return strings.ToLower(strings.Join(list, "\n"))
}

// reach waits until the file has a cursor, not longer than ctx.
func (x *index) reach(ctx context.Context, cursor uint64) {
	if x.done.Load() >= cursor {
		return
	}
	a := waiter{cursor: cursor, reached: make(chan struct{})}
	select {
	case x.asks <- a:
	case <-ctx.Done():
		return
	}
	select {
	case <-a.reached:
	case <-ctx.Done():
	}
}
