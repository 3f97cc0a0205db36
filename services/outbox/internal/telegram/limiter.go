package telegram

import (
	"cmp"
	"slices"
	"time"
)

const (
	// keepPlace is how long after the time that was promised a place in the queue is kept.
	keepPlace = 2 * time.Minute
	// maxPlaces bounds the places of those who went away; beyond it they come back as new ones.
	maxPlaces = 10_000
	minSweep  = 256
)

// limiter decides which call is next, and when. It has no clock and no lock: gate has both.
//
// Who asks joins the queue. Of those who wait, the first whose chat may be called is called as soon as there is room
// overall; a chat that is held or has had its share is passed over, and keeps its own order. Who will not wait leaves a place
// that counts again when they come back under the same key: so they are before all who came later, and
// nobody starves. A place blocks nobody: what its owner does not use is not lost.
type limiter struct {
	limits  Limits
	overall window
	chats   map[int64]*chat
	waiting []*ticket          // by seq
	places  map[string]*ticket // of those who went away
	seq     uint64             // of the newest ticket
	pass    uint64             // of advance
	sweepAt int                // chats are looked through for idle ones when there are so many
	// Where limits are shared with other processes, a call that was begun is called once they know of it; see page.
	shared bool
	begun  []*ticket // that they do not know of yet
	dirty  bool      // there is something to tell them
}

// chat is what is known of one chat. It is forgotten when that says nothing any more.
type chat struct {
	id      int64
	held    time.Time // by a 429 until then
	heldToo time.Time // by a 429 that another process got
	all     window    // against Limits.Chat
	group   window    // against Limits.Group
	edits   window    // against Limits.Edit or Limits.GroupEdit
	waiting int       // tickets in the queue
	blocked uint64    // the pass of advance that found it so
}

// holds is until when it is held.
func (c *chat) holds() time.Time { return later(c.held, c.heldToo) }

// ticket is one call that wants to be made.
type ticket struct {
	key    string
	chat   *chat
	edit   bool
	seq    uint64
	slot   time.Time     // when it will be its turn, as far as could be said when it joined or left
	byChat bool          // slot is that of its chat: it takes no room from others until then
	spare  bool          // nobody waits for it: it is called now or never
	never  bool          // spare, and there was no room after all
	ready  chan struct{} // closed when it is its turn; or never
}

func newLimiter(l Limits) *limiter {
	return &limiter{limits: l.orDefault(), chats: map[int64]*chat{}, places: map[string]*ticket{}, sweepAt: minSweep}
}

// join puts a call into the queue: at the place that key has left, else at the end.
func (l *limiter) join(key string, id int64, edit bool, now time.Time) *ticket {
	t := &ticket{key: key, chat: l.chat(id, now), edit: edit, ready: make(chan struct{})}
	if p := l.places[key]; p != nil {
		delete(l.places, key)
		if !p.expired(now) {
			t.seq = p.seq
		}
	}
	if t.seq == 0 {
		l.seq++
		t.seq = l.seq
	}
	l.queue(t)
	l.estimate(t, now)
	return t
}

func (l *limiter) queue(t *ticket) {
	t.chat.waiting++
	i, _ := slices.BinarySearchFunc(l.waiting, t.seq, func(w *ticket, seq uint64) int { return cmp.Compare(w.seq, seq) })
	l.waiting = slices.Insert(l.waiting, i, t)
}

// leave takes a ticket out of the queue that was not called; its place is kept. Its slot is then when to come back.
func (l *limiter) leave(t *ticket, now time.Time) {
	if i := slices.Index(l.begun, t); i >= 0 {
		l.begun = slices.Delete(l.begun, i, i+1)
		l.undo(t)
	}
	if t.spare {
		return
	}
	l.estimate(t, now)
	if i := slices.Index(l.waiting, t); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		t.chat.waiting--
	}
	if len(l.places) >= maxPlaces {
		for key, p := range l.places {
			if p.expired(now) {
				delete(l.places, key)
			}
		}
	}
	if len(l.places) < maxPlaces {
		l.places[t.key] = t
	}
}

func (t *ticket) expired(now time.Time) bool { return now.After(t.slot.Add(keepPlace)) }

// estimate says when it will be the turn of a ticket: after those that came before it, waiting or gone with a place.
func (l *limiter) estimate(t *ticket, now time.Time) {
	inChat, overall := 0, 0
	count := func(o *ticket) {
		if o.seq >= t.seq {
			return
		}
		if o.chat.id == t.chat.id {
			inChat++
		}
		if !o.byChat || !o.slot.After(now) {
			overall++
		}
	}
	for _, o := range l.waiting {
		count(o)
	}
	for _, o := range l.places {
		if !o.expired(now) {
			count(o)
		}
	}
	byChat, byAll := l.chatSlot(t, inChat, now), l.overall.slot(l.limits.Overall, overall, now)
	t.byChat = byChat.After(byAll)
	t.slot = later(byChat, byAll)
}

// chatSlot is when the chat of a ticket may be called, after k others.
func (l *limiter) chatSlot(t *ticket, k int, now time.Time) time.Time {
	c := t.chat
	at := later(now, c.holds())
	at = later(at, c.all.slot(l.limits.Chat, k, now))
	if c.id < 0 {
		at = later(at, c.group.slot(l.limits.Group, k, now))
	}
	if t.edit {
		at = later(at, c.edits.slot(l.editLimit(c.id), 0, now))
	}
	return at
}

// advance begins the calls whose turn it is: done has to follow each that is called. It returns when to look
// again unless something happens before; the zero time when nobody waits.
func (l *limiter) advance(now time.Time) (next time.Time) {
	l.pass++
	look := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	keep := l.waiting[:0]
	for i, t := range l.waiting {
		if at := l.overall.slot(l.limits.Overall, 0, now); at.After(now) {
			look(at)
			keep = append(keep, l.waiting[i:]...)
			break
		}
		at := l.chatSlot(t, 0, now)
		if t.chat.blocked == l.pass || at.After(now) {
			t.chat.blocked = l.pass // whoever comes later in this chat stays behind
			if at.After(now) {
				look(at)
			}
			keep = append(keep, t)
			continue
		}
		t.chat.waiting--
		l.begin(t)
	}
	clear(l.waiting[len(keep):])
	l.waiting = keep
	return next
}

// trySpare begins a call that nobody has to wait for, if there is room to spare.
func (l *limiter) trySpare(id int64, edit bool, now time.Time) (*ticket, bool) {
	t := &ticket{chat: l.chat(id, now), edit: edit, spare: true, ready: make(chan struct{})}
	if !l.hasSpare(t, now) {
		return nil, false
	}
	l.begin(t)
	return t, true
}

func (l *limiter) hasSpare(t *ticket, now time.Time) bool {
	c := t.chat
	return c.waiting == 0 && !l.chatSlot(t, 0, now).After(now) && c.all.spare(l.limits.Chat, now) &&
		(c.id >= 0 || c.group.spare(l.limits.Group, now)) && l.overall.spare(l.limits.Overall, now)
}

// begin counts a call. It is called at once where nobody else has to know.
func (l *limiter) begin(t *ticket) {
	for _, w := range l.windows(t) {
		w.begin()
	}
	l.dirty = true
	if !l.shared {
		close(t.ready)
		return
	}
	l.begun = append(l.begun, t)
}

// isBegun says that a call was begun, and that the others do not know yet.
func (l *limiter) isBegun(t *ticket) bool { return slices.Contains(l.begun, t) }

// undo takes back a begin: it was not called.
func (l *limiter) undo(t *ticket) {
	for _, w := range l.windows(t) {
		w.flying--
	}
	l.dirty = true
}

// done ends a call that was called, however it went.
func (l *limiter) done(t *ticket, now time.Time) {
	for _, w := range l.windows(t) {
		w.end(now)
	}
	l.dirty = true
}

// windows are those that a call counts in.
func (l *limiter) windows(t *ticket) []*window {
	ws := []*window{&l.overall, &t.chat.all}
	if t.chat.id < 0 {
		ws = append(ws, &t.chat.group)
	}
	if t.edit {
		ws = append(ws, &t.chat.edits)
	}
	return ws
}

func (l *limiter) editLimit(chat int64) Limit {
	if chat < 0 {
		return l.limits.GroupEdit
	}
	return l.limits.Edit
}

// hold keeps a chat from being called before a time. It says whether that is news.
func (l *limiter) hold(id int64, until, now time.Time) bool {
	c := l.chat(id, now)
	news := !c.holds().After(now)
	c.held = later(c.held, until)
	l.dirty = true
	return news
}

// heldUntil is until when a chat is held; a time that has passed when it is not.
func (l *limiter) heldUntil(id int64) time.Time {
	if c := l.chats[id]; c != nil {
		return c.holds()
	}
	return time.Time{}
}

// chat finds or makes the record of a chat.
func (l *limiter) chat(id int64, now time.Time) *chat {
	if c := l.chats[id]; c != nil {
		return c
	}
	if len(l.chats) >= l.sweepAt {
		l.sweep(now)
	}
	c := &chat{id: id}
	l.chats[id] = c
	return c
}

// sweep forgets what says nothing any more.
func (l *limiter) sweep(now time.Time) {
	for id, c := range l.chats {
		if c.waiting == 0 && !c.holds().After(now) && c.all.idle(l.limits.Chat, now) &&
			c.group.idle(l.limits.Group, now) && c.edits.idle(l.editLimit(c.id), now) {
			delete(l.chats, id)
		}
	}
	l.sweepAt = max(minSweep, 2*len(l.chats))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
