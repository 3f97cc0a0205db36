package timeline

import (
	"time"

	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Build explains a session. events are all that is known of it, oldest first, due is what each machine wants now.
func Build(events []envelope.Event, due []recheck.Due, now time.Time) Timeline {
	b := builder{
		now: now, at: map[string]*Entry{}, cursors: map[string]uint64{}, turns: map[string]*Entry{}, rounds: map[roundKey]*Entry{},
		calls: map[callKey]*Entry{}, approvals: map[string]*Entry{}, deliveries: map[string]*Entry{}, compactions: map[string]*Entry{},
	}
	b.t.At, b.t.Events, b.t.Entries = now, len(events), []*Entry{}
	for i, ev := range events {
		if i == 0 {
			b.t.Session, b.t.First = ev.Session, ev.Cursor
		}
		leaf := b.place(ev)
		b.hole(ev, b.t.Last, leaf)
		b.t.Last = ev.Cursor
	}
	b.finish()
	b.t.count(events)
	b.t.Waiting = b.waiting(events, due)
	return b.t
}

type roundKey struct {
	turn  string
	round int
}

type callKey struct{ turn, call string }

// builder puts each event where it belongs.
type builder struct {
	t   Timeline
	now time.Time

	at          map[string]*Entry // the entry of an event, by its id
	cursors     map[string]uint64 // by the id of an event
	turns       map[string]*Entry
	rounds      map[roundKey]*Entry
	calls       map[callKey]*Entry
	approvals   map[string]*Entry
	deliveries  map[string]*Entry // by the id of what is shown
	compactions map[string]*Entry // the last one of its id
	running     *Entry            // the turn that has not ended
	model       string            // that answered last
}

// add puts an entry under another, or at the top when that is nil.
func (b *builder) add(parent, e *Entry) *Entry {
	if e.parent = parent; parent == nil {
		b.t.Entries = append(b.t.Entries, e)
	} else {
		parent.Entries = append(parent.Entries, e)
	}
	return e
}

// leaf adds an event under a parent.
func (b *builder) leaf(parent *Entry, ev envelope.Event, text string) *Entry {
	e := &Entry{
		Kind: EventKind, Cursor: ev.Cursor, Type: ev.Type(), ID: ev.ID, Time: ev.Time, Cause: b.cursors[ev.Cause], Text: short(text),
	}
	if _, known := b.at[ev.ID]; !known && ev.ID != "" { // the first one counts
		b.at[ev.ID], b.cursors[ev.ID] = e, ev.Cursor
	}
	return b.add(parent, e)
}

// group adds one that begins with an event.
func (b *builder) group(parent *Entry, kind Kind, id string, ev envelope.Event, f Facts) *Entry {
	return b.add(parent, &Entry{Kind: kind, ID: id, Time: ev.Time, Cause: b.cursors[ev.Cause], Open: true, Facts: f})
}

// host is what stands for an event to which something else belongs: the group that it is in, or itself.
func host(e *Entry) *Entry {
	if e == nil || e.Kind != EventKind || e.parent == nil || e.parent.Kind == MessageKind || e.parent.Kind == ControlKind {
		return e
	}
	return e.parent
}

// root is the entry at the top that e stands under.
func root(e *Entry) *Entry {
	for e != nil && e.parent != nil {
		e = e.parent
	}
	return e
}

// close ends a group.
func (e *Entry) close(at time.Time) {
	if e.Open {
		e.Open, e.Took = false, between(e.Time, at)
	}
}

// between is how long it took, as far as the clocks of several workers can tell.
func between(from, to time.Time) Span {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return Span(max(0, to.Sub(from)))
}

// until is the earlier one of a time and a limit that may be missing.
func until(at, limit time.Time) time.Time {
	if !limit.IsZero() && limit.Before(at) {
		return limit
	}
	return at
}

// tombstone is the kind of the event above which a chain may begin.
var tombstone = envelope.KindOf(turnv1.SessionDeleted{}.EventType())

// hole says that an event does not follow on the one before it.
func (b *builder) hole(ev envelope.Event, before uint64, leaf *Entry) {
	if ev.Prev == before || ev.Kind() == tombstone {
		return
	}
	h := Hole{Above: ev.Cursor, Missing: ev.Prev}
	b.t.Holes = append(b.t.Holes, h)
	// A group that begins with the event begins below the hole, too.
	for leaf.parent != nil && leaf.parent.Entries[0] == leaf {
		leaf = leaf.parent
	}
	e := &Entry{Kind: HoleKind, ID: "", Time: ev.Time, Facts: &h, parent: leaf.parent}
	list := &b.t.Entries
	if leaf.parent != nil {
		list = &leaf.parent.Entries
	}
	last := len(*list) - 1
	*list = append((*list)[:last:last], e, (*list)[last])
}

// finish counts what is open until now, and how far everything is from what it stands under.
func (b *builder) finish() {
	b.t.each(func(e *Entry) {
		if r := root(e); !e.Time.IsZero() && !r.Time.IsZero() {
			e.Offset = Span(e.Time.Sub(r.Time))
		}
		if e.Open {
			e.Took = between(e.Time, b.now)
		}
		switch f := e.Facts.(type) {
		case *Message:
			if f.Waits = !f.asked; f.Waits {
				f.Waited = between(e.Time, b.now)
			}
		case *Round:
			f.stop(b.now)
			f.Spent = spentOf(e.paid)
		case *Turn:
			f.Spent = spentOf(e.paid)
		case *Compaction:
			e.Took = between(e.Time, until(e.Time.Add(time.Duration(e.Took)), laterOf(e.Time, f.Deadline)))
			f.Spent = spentOf(e.paid)
		case *Call:
			f.stop(b.now)
		case *Approval:
			f.stop(b.now)
		case *Delivery, *Hole:
		}
	})
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return time.Time{}
}

// bury closes everything, as nothing of it goes on after a tombstone.
func (b *builder) bury(at time.Time) {
	b.running = nil
	b.t.each(func(e *Entry) {
		if m, ok := e.Facts.(*Message); ok {
			m.give(e, at, "deleted")
		}
		if !e.Open {
			return
		}
		e.close(at)
		switch f := e.Facts.(type) {
		case *Turn:
			f.Outcome = deleted
		case *Round:
			f.Outcome = deleted
			f.stop(at)
		case *Call:
			f.Outcome = deleted
			f.stop(at)
		case *Approval:
			f.Outcome = deleted
			f.stop(at)
		case *Delivery:
			f.Outcome = deleted
		case *Compaction:
			f.Outcome = deleted
		case *Message, *Hole:
		}
	})
}

// deleted is the outcome of what was open when its session was deleted.
const deleted = "deleted"
