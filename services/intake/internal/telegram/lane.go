package telegram

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

// item is one update on its way.
type item struct {
	id     int64
	raw    json.RawMessage
	update botapi.Update
	bad    error   // why it could not be read; update is then empty
	came   *polled // with which it came; nil at a webhook
}

// newItem reads an update. It may be one that nobody can read.
func newItem(id int64, raw json.RawMessage) (it *item) {
	it = &item{id: id, raw: raw}
	defer func() {
		if recover() != nil {
			it.update, it.bad = botapi.Update{}, errPanic
		}
	}()
	it.update, it.bad = botapi.DecodeUpdate(raw)
	return it
}

// chat is what an update is in order with: those that name no chat are in order with each other.
func (it *item) chat() int64 {
	u := it.update
	switch {
	case u.Message != nil:
		return u.Message.Chat.ID
	case u.Edited != nil:
		return u.Edited.Chat.ID
	case u.Callback != nil && u.Callback.Message != nil:
		return u.Callback.Message.Chat.ID
	case u.Callback != nil:
		return u.Callback.From.ID
	case u.Reaction != nil:
		return u.Reaction.Chat.ID
	case u.Member != nil:
		return u.Member.Chat.ID
	}
	return 0
}

// album is what the messages of one album have in common.
type album struct {
	group  string
	from   int64
	sender int64
	thread int64
}

// album is the zero value for what is in none.
func (it *item) album() album {
	m := it.update.Message
	if m == nil || m.MediaGroup == "" {
		return album{}
	}
	a := album{group: m.MediaGroup, thread: m.Thread}
	if m.From != nil {
		a.from = m.From.ID
	}
	if m.SenderChat != nil {
		a.sender = m.SenderChat.ID
	}
	return a
}

// lanes have the updates of a chat handled one after the other, and those of different chats at the same time: a goroutine for
// each chat while it has some. They are unbounded: whoever adds looks at size. In memory only: what is in them is not confirmed.
type lanes struct {
	// handle gets one update, or all of an album, and returns false when ctx has ended before they were done.
	handle  func(ctx context.Context, items []*item) bool
	quiet   time.Duration // for the next message of an album; 0: each message is for itself
	resting func()        // an album waits for the next answer; nil: nobody wants to know

	mu     sync.Mutex
	byChat map[int64]*lane // guarded by mu
	items  int             // guarded by mu; that wait or are at work
	closed bool            // guarded by mu
	last   *polled         // guarded by mu; nil: there was none
	work   sync.WaitGroup
}

type lane struct {
	queue []*item       // guarded by lanes.mu
	rests int           // guarded by lanes.mu; updates of an album that are collected, and wait for the next answer
	bell  chan struct{} // has room for one: something was added, or an answer has come
}

// take takes out the first update; lanes.mu is held.
func (ln *lane) take() *item {
	it := ln.queue[0]
	ln.queue[0] = nil
	ln.queue = ln.queue[1:]
	return it
}

// add queues an update; false when the lanes are closed. Until ctx ends it is handled.
func (l *lanes) add(ctx context.Context, it *item) bool {
	chat := it.chat()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if l.byChat == nil {
		l.byChat = map[int64]*lane{}
	}
	ln := l.byChat[chat]
	if ln == nil {
		ln = &lane{bell: make(chan struct{}, 1)}
		l.byChat[chat] = ln
		l.work.Go(func() { l.run(ctx, chat, ln) })
	}
	ln.queue = append(ln.queue, it)
	l.items++
	ring(ln.bell)
	return true
}

// size is how many updates wait or are at work.
func (l *lanes) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items
}

// close lets nothing in any more, and waits for what runs. The context of add has ended, or this takes as long as the work.
func (l *lanes) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.work.Wait()
}

func (l *lanes) run(ctx context.Context, chat int64, ln *lane) {
	for {
		items := l.next(ctx, chat, ln)
		if len(items) == 0 || !l.handle(ctx, items) {
			return
		}
		l.mu.Lock()
		l.items -= len(items)
		l.mu.Unlock()
	}
}

// next takes the next update out of a lane, with all of its album; none when the lane is empty, which ends it, or ctx has ended.
func (l *lanes) next(ctx context.Context, chat int64, ln *lane) []*item {
	first := l.pop(chat, ln)
	switch {
	case first == nil || ctx.Err() != nil:
		return nil
	case first.album() == (album{}) || l.quiet == 0:
		return []*item{first}
	}
	return l.gather(ctx, ln, first)
}

// pop takes the first update of a lane. An empty lane is at its end.
func (l *lanes) pop(chat int64, ln *lane) *item {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(ln.queue) == 0 {
		delete(l.byChat, chat)
		return nil
	}
	return ln.take()
}

// ring is for a channel with room for one: whoever listens looks again.
func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}
