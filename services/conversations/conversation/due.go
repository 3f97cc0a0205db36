package conversation

import (
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// open adds an item. What has no room is counted, and keeps the session open for good.
func (s State) open(ev envelope.Event, d Due) State {
	if len(s.Due) >= maxDue {
		s.More++
		return s
	}
	d.Cursor, d.Since = ev.Cursor, wall(ev.Time)
	s.Due = append(slices.Clip(s.Due), d) // clipped: the append copies, so that no other State sees it
	return s
}

// find is the place of the first item that is meant, or -1.
func (s State) find(meant func(Due) bool) int { return slices.IndexFunc(s.Due, meant) }

// close takes out every item that is meant.
func (s State) close(meant func(Due) bool) State {
	if s.find(meant) < 0 {
		return s
	}
	var rest []Due
	for _, d := range s.Due {
		if !meant(d) {
			rest = append(rest, d)
		}
	}
	s.Due = rest
	return s
}

// change changes one item, in memory of its own.
func (s State) change(i int, to func(*Due)) State {
	s.Due = slices.Clone(s.Due)
	to(&s.Due[i])
	return s
}

// is says whether an item is of a kind and has an id.
func (d Due) is(kind, id string) bool { return d.Kind == kind && d.ID == id }

// of says whether an item is about a call.
func (d Due) of(kind, turn, call string) bool {
	switch kind {
	case OpenCall:
		return d.Kind == kind && d.Turn == turn && d.ID == call
	case OpenApproval:
		return d.Kind == kind && d.Turn == turn && d.Call == call
	}
	return false
}

// last appends to a bounded list; the oldest go.
func last[E any](list []E, e E, most int) []E {
	list = list[max(0, len(list)+1-most):]
	return append(slices.Clip(list), e)
}

// without is a list without one of its elements.
func without[E any](list []E, i int) []E {
	if len(list) == 1 {
		return nil
	}
	return slices.Concat(list[:i], list[i+1:])
}

// wall strips what JSON does not keep of a time.
func wall(t time.Time) time.Time { return t.UTC().Round(0) }
