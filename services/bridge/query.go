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
	text    int // bytes of a text at most; 0: textUsual
}

// shown is an event as it is told.
func (q query) shown(e event.Event) event.Event {
	if m, ok := e.Body.(event.Message); ok {
		m.Text, m.Cut = limited(m.Text, q.text)
		e.Body = m
	}
	return e
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
	bytes  int
}

// pageBytes is what the events of a page may have together, but for the first: clients hold an answer in memory, and models read it.
const pageBytes = 256 << 10

// add takes an event as it is told.
func (p *page) add(e event.Event) { p.events, p.bytes = append(p.events, e), p.bytes+weigh(e) }

// full says whether a page ends before an event. Events that share a cursor are not parted, so that a page can have one more than its
// limit.
func (p *page) full(q query, e event.Event) bool {
	n := len(p.events)
	if n == 0 || n < q.limit && p.bytes+weigh(e) <= pageBytes || p.events[n-1].Cursor == e.Cursor {
		return false
	}
	p.next, p.more = p.events[n-1].Cursor, true
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
	Requested uint64 `json:"requested_after_cursor" jsonschema:"the last cursor before what is missing, from the one that was asked for on"`
	Oldest    uint64 `json:"oldest_available_cursor" jsonschema:"the first event behind it"`
}

// gapIn is the first of some holes that lies within a page.
func gapIn(holes []hole, q query, next uint64) (g *Gap) {
	var begin uint64
	for _, h := range holes {
		within := h.last > q.after && h.first <= next
		if within && (q.session == "" || q.session == h.session) && (g == nil || h.first < begin) {
			g, begin = &Gap{Requested: q.after, Oldest: h.next}, h.first
			if q.session == "" { // else only the end of what is missing is known
				g.Requested = max(q.after, h.first-1)
			}
		}
	}
	return g
}
