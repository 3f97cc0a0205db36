package health

import (
	"slices"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Break is a place at which a session's chain is broken: an event does not follow on the one that its session had before.
type Break struct {
	Session session.ID `json:"session"`
	At      uint64     `json:"at"`      // cursor of the event above
	Prev    uint64     `json:"prev"`    // what it follows on, as it says
	Before  uint64     `json:"before"`  // what its session has before it; 0: nothing
	Missing bool       `json:"missing"` // Prev is not in the journal; else it is, and At passes something by
}

// Chain checks the chains of all sessions in one pass over the journal, or over its end. The zero value begins at the first
// cursor.
type Chain struct {
	// From is the first cursor that is looked at: what lies below is neither there nor missing.
	From uint64

	last   map[session.ID]uint64
	breaks map[session.ID][]Break
}

// Event takes the next message of the journal, in order. One that is no event is at a cursor of its session all the same:
// say its Prev with follows false.
func (c *Chain) Event(id session.ID, cursor, prev uint64, tombstone, follows bool) {
	if c.last == nil {
		c.last, c.breaks = map[session.ID]uint64{}, map[session.ID][]Break{}
	}
	before := c.last[id]
	c.last[id] = cursor
	switch {
	case tombstone: // what lies below was purged, or will be
		delete(c.breaks, id)
	case !follows || prev == before:
	case before == 0 && prev < c.From:
	default:
		c.breaks[id] = append(c.breaks[id], Break{Session: id, At: cursor, Prev: prev, Before: before, Missing: prev > before})
	}
}

// Sessions are all that were seen.
func (c *Chain) Sessions() int { return len(c.last) }

// Breaks are all places that no tombstone explains, in the order of the journal.
func (c *Chain) Breaks() []Break {
	var all []Break
	for _, b := range c.breaks {
		all = append(all, b...)
	}
	slices.SortFunc(all, func(a, b Break) int { return int(a.At) - int(b.At) })
	return all
}

// Tombstone says whether an event is the last of a deleted session: only a new past may follow.
func Tombstone(ev envelope.Event) bool { return ev.Kind() == "session.deleted" }
