package bridge

import (
	"slices"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/bridge/event"
)

// query asks for events behind a cursor.
type query struct {
	after   uint64
	session session.ID // "" for all
	types   []event.Type
	limit   int
}

func (q query) wants(e event.Event) bool {
	return (q.session == "" || e.Session == q.session) && slices.Contains(q.types, e.Type)
}

// page answers it.
type page struct {
	events []event.Event
	next   uint64 // the cursor to go on from: all that was asked for up to it is in the page
	gap    *Gap
	more   bool // there are events behind next already
}

// full says whether a page ends before an event. Events that share a cursor are not parted, so that a page can have one more than its
// limit.
func (p *page) full(q query, e event.Event) bool {
	if len(p.events) < q.limit || p.events[len(p.events)-1].Cursor == e.Cursor {
		return false
	}
	p.next, p.more = p.events[len(p.events)-1].Cursor, true
	return true
}

// hole is a place in the journal where events were and are no longer.
type hole struct {
	session     session.ID // whose they were; "" when that is not known
	first, last uint64     // the cursors of those that are missing
	next        uint64     // of the first event behind them
}

// Gap says that events behind the cursor that was asked for are no longer in the journal: retention or somebody has removed them.
type Gap struct {
	Requested uint64 `json:"requested_after_cursor"`
	Oldest    uint64 `json:"oldest_available_cursor"` // of the first event behind what is missing
}

// gapIn is the first of some holes that lies within a page.
func gapIn(holes []hole, q query, next uint64) (g *Gap) {
	for _, h := range holes {
		within := h.last > q.after && h.first <= next
		if within && (q.session == "" || q.session == h.session) && (g == nil || h.next < g.Oldest) {
			g = &Gap{Requested: q.after, Oldest: h.next}
		}
	}
	return g
}
