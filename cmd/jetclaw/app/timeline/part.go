package timeline

import (
	"slices"
	"strconv"
)

// Since keeps what has anything above a cursor. What it stands under stays.
func (t Timeline) Since(cursor uint64) Timeline {
	t.Entries = above(t.Entries, cursor)
	return t
}

func above(list []*Entry, cursor uint64) []*Entry {
	kept := []*Entry{}
	for _, e := range list {
		if last(e) <= cursor {
			continue
		}
		c := *e
		c.Entries = above(e.Entries, cursor)
		kept = append(kept, &c)
	}
	return kept
}

// last is the highest cursor of an entry and of what stands under it.
func last(e *Entry) uint64 {
	n := e.Cursor
	if h, ok := e.Facts.(*Hole); ok {
		n = h.Above
	}
	for _, c := range e.Entries {
		n = max(n, last(c))
	}
	return n
}

// Turn keeps one turn, given by its number, its id or the id of its first message, with what it stands under; false when there is
// none. The totals stay those of the session.
func (t Timeline) Turn(which string) (Timeline, bool) {
	number, err := strconv.Atoi(which)
	is := func(e *Entry) bool {
		f, ok := e.Facts.(*Turn)
		return ok && (err == nil && f.Number == number || e.ID == which || len(f.Messages) > 0 && f.Messages[0] == which)
	}
	for _, e := range t.Entries {
		if is(e) {
			t.Entries = []*Entry{e}
			return t, true
		}
		if slices.ContainsFunc(e.Entries, is) {
			c := *e
			c.Entries = slices.DeleteFunc(slices.Clone(e.Entries), func(e *Entry) bool { return e.Kind == TurnKind && !is(e) })
			t.Entries = []*Entry{&c}
			return t, true
		}
	}
	return t, false
}
