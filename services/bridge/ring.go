package bridge

import (
	"slices"
	"sort"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/bridge/event"
)

// The bounds of a ring: what it has not kept is read from the journal.
const (
	ringEvents = 4096
	ringBytes  = 8 << 20
)

// ring has the last events in memory: all of those with a cursor above from and at most upto. It is ordered, bounded (the oldest
// go) and lossless within its bounds.
type ring struct {
	events     []event.Event
	holes      []hole
	from, upto uint64
	bytes      int
	room       room
}

// room bounds a ring; the zero value is ringEvents and ringBytes.
type room struct{ events, bytes int }

func (r room) has(events, bytes int) bool {
	if r.events == 0 {
		r = room{ringEvents, ringBytes}
	}
	return events <= r.events && bytes <= r.bytes
}

// add takes the events of one cursor, in the journal's order.
func (r *ring) add(cursor uint64, events []event.Event) {
	r.upto = cursor
	for _, e := range events {
		r.events, r.bytes = append(r.events, e), r.bytes+weigh(e)
	}
	drop := 0
	for drop < len(r.events) && !r.room.has(len(r.events)-drop, r.bytes) {
		c := r.events[drop].Cursor
		for drop < len(r.events) && r.events[drop].Cursor == c { // what shares a cursor goes together
			r.bytes -= weigh(r.events[drop])
			drop++
		}
		r.from = c
	}
	if drop > 0 {
		clear(r.events[:drop]) // their texts go at once; their places when append next needs a larger array
		r.events = r.events[drop:]
		r.holes = slices.DeleteFunc(r.holes, func(h hole) bool { return h.last <= r.from })
	}
}

// skip notes that nothing is left between the last cursor and one that comes now.
func (r *ring) skip(cursor uint64) {
	if cursor > r.upto+1 {
		r.holes = append(r.holes, hole{first: r.upto + 1, last: cursor - 1, next: cursor})
	}
}

// chain notes that what was before an event in its session is among what was skipped.
func (r *ring) chain(s session.ID, prev, cursor uint64) {
	if slices.ContainsFunc(r.holes, func(h hole) bool { return h.session == "" && h.first <= prev && prev <= h.last }) {
		r.holes = append(r.holes, hole{session: s, first: prev, last: prev, next: cursor})
	}
}

// forget takes away what a session has said that was deleted at a cursor. Each run of its events is a hole of its own, so that the
// first event behind it is one that is there.
func (r *ring) forget(s session.ID, cursor uint64) {
	kept := r.events[:0:0]
	var gone []hole
	for _, e := range r.events {
		n := len(gone) - 1
		switch {
		case e.Session != s:
			kept = append(kept, e)
			if n >= 0 && gone[n].next == cursor {
				gone[n].next = e.Cursor
			}
			continue
		case n < 0 || gone[n].next != cursor:
			gone = append(gone, hole{session: s, first: e.Cursor, last: e.Cursor, next: cursor})
		default:
			gone[n].last = e.Cursor
		}
		r.bytes -= weigh(e)
	}
	if len(gone) > 0 {
		r.events, r.holes = kept, append(r.holes, gone...)
	}
}

// covers says whether everything behind a cursor is here.
func (r *ring) covers(after uint64) bool { return after >= r.from }

// page is the part of the ring that answers a query: see query.
func (r *ring) page(q query) page {
	p := page{next: r.upto}
	begin := sort.Search(len(r.events), func(i int) bool { return r.events[i].Cursor > q.after })
	for _, e := range r.events[begin:] {
		if !q.wants(e) {
			continue
		}
		if e = q.shown(e); p.full(q, e) {
			break
		}
		p.add(e)
	}
	p.gap = gapIn(r.holes, q, p.next)
	return p
}

// weigh is about what an event takes in memory.
func weigh(e event.Event) int {
	const frame = 300
	switch b := e.Body.(type) {
	case event.Message:
		return frame + len(b.Text)
	case event.Requested:
		return frame + len(b.Request.Shown) + len(b.Request.Arguments)
	case event.Permission:
		return frame + len(b.Description) + len(b.Preview)
	case event.Resolved, event.Permitted, event.Turn, event.Delivery:
	}
	return frame
}
