package bridge

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/bridge/event"
)

// place is one cursor of a model journal.
type place struct {
	session session.ID
	prev    uint64 // of its session
	events  []event.Event
	missing bool // it was never seen
	gone    bool // it had events, and its session was deleted
}

// model is a ring as a list: its cursors are the indices, from 1.
type model struct {
	places []place
	last   map[session.ID]uint64
	from   uint64
	room   room
}

var rooms = []session.ID{"main.http.x.a", "main.http.x.b", "main.telegram.x.c"}

func drawEvents(t *rapid.T, cursor uint64, s session.ID) []event.Event {
	var out []event.Event
	for range rapid.IntRange(0, 2).Draw(t, "events") {
		typ := rapid.SampledFrom(event.All()).Draw(t, "type")
		out = append(out, event.Event{Cursor: cursor, Type: typ, Session: s, Body: event.Message{Text: strings.Repeat("x", 100*len(out))}})
	}
	return out
}

func (m *model) add(t *rapid.T, r *ring) {
	for range rapid.SampledFrom([]int{0, 0, 0, 0, 1, 3}).Draw(t, "skipped") {
		s := rapid.SampledFrom(rooms).Draw(t, "whose")
		m.last[s] = uint64(len(m.places))
		m.places = append(m.places, place{session: s, missing: true})
	}
	s, cursor := rapid.SampledFrom(rooms).Draw(t, "session"), uint64(len(m.places))
	p := place{session: s, prev: m.last[s], events: drawEvents(t, cursor, s)}
	deleted := rapid.IntRange(0, 9).Draw(t, "deleted") == 0
	if deleted {
		p.events = nil
	}
	r.skip(cursor)
	r.chain(s, p.prev, cursor)
	if deleted {
		r.forget(s, cursor)
		m.forget(s)
	}
	m.last[s], m.places = cursor, append(m.places, p)
	r.add(cursor, p.events)
	m.shrink()
}

func (m *model) forget(s session.ID) {
	for i := range m.places {
		if p := &m.places[i]; uint64(i) > m.from && p.session == s && len(p.events) > 0 {
			p.events, p.gone = nil, true
		}
	}
}

// shrink drops the oldest cursors until the rest has room.
func (m *model) shrink() {
	for {
		n, bytes, oldest := 0, 0, uint64(0)
		for i := m.from + 1; i < uint64(len(m.places)); i++ {
			for _, e := range m.places[i].events {
				if n, bytes = n+1, bytes+weigh(e); oldest == 0 {
					oldest = i
				}
			}
		}
		if n <= m.room.events && bytes <= m.room.bytes {
			return
		}
		m.from = oldest
	}
}

func (m *model) want(q query) []event.Event {
	var out []event.Event
	for i := q.after + 1; i < uint64(len(m.places)); i++ {
		for _, e := range m.places[i].events {
			if q.wants(e) {
				out = append(out, e)
			}
		}
	}
	return out
}

// firstMissing is the first cursor in a page at which something is known to be missing that the query is about; 0: none.
func (m *model) firstMissing(q query, next uint64) uint64 {
	for i := q.after + 1; i <= next; i++ {
		p := m.places[i]
		switch {
		case q.session == "" && (p.missing || p.gone), q.session == p.session && p.gone:
			return i
		case q.session == p.session && p.missing:
			follows := func(o place) bool { return o.session == p.session && !o.missing && o.prev == i }
			if slices.ContainsFunc(m.places[i:], follows) {
				return i
			}
		}
	}
	return 0
}

func drawQuery(t *rapid.T, upto uint64) query {
	return query{
		after:   rapid.Uint64Range(0, upto).Draw(t, "after"),
		session: rapid.SampledFrom(append(slices.Clip(rooms), "", "")).Draw(t, "of"),
		types:   rapid.SliceOfNDistinct(rapid.SampledFrom(event.All()), 1, 10, rapid.ID[event.Type]).Draw(t, "types"),
		limit:   rapid.IntRange(1, 5).Draw(t, "limit"),
	}
}

func same(a, b []event.Event) bool { return fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b) }

// walk reads all pages of a query, and checks what is to be said of each of them.
func walk(t rapid.TB, q query, upto uint64, read func(query) page) (all []event.Event, pages []page) {
	t.Helper()
	for {
		p := read(q)
		all, pages = append(all, p.events...), append(pages, p)
		n := len(p.events)
		switch {
		case n > q.limit+1, n == q.limit+1 && p.events[n-1].Cursor != p.events[n-2].Cursor:
			t.Fatalf("%+v: a page of %d events", q, n)
		case p.more && (n < q.limit || p.next != p.events[n-1].Cursor), !p.more && p.next != upto:
			t.Fatalf("%+v: next %d of %d, more %v, %d events", q, p.next, upto, p.more, n)
		case p.gap != nil && (p.gap.Requested < q.after || p.gap.Oldest <= p.gap.Requested):
			t.Fatalf("%+v: gap %+v", q, p.gap)
		}
		if q.after = p.next; !p.more {
			return all, pages
		}
	}
}

func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{places: make([]place, 1), last: map[session.ID]uint64{}, room: room{
			rapid.IntRange(1, 12).Draw(t, "room"), rapid.IntRange(700, 5000).Draw(t, "bytes"),
		}}
		r := &ring{room: m.room}
		for range rapid.IntRange(0, 150).Draw(t, "steps") {
			m.add(t, r)
		}
		if r.from != m.from || r.bytes != weighAll(r.events) || !m.room.has(len(r.events), r.bytes) {
			t.Fatalf("from %d, want %d; %d events, %d bytes", r.from, m.from, len(r.events), r.bytes)
		}
		for range 25 {
			q := drawQuery(t, r.upto)
			if covers := q.after >= m.from; r.covers(q.after) != covers {
				t.Fatalf("covers %d: %v", q.after, !covers)
			} else if !covers {
				continue
			}
			got, pages := walk(t, q, r.upto, r.page)
			if want := m.want(q); !same(got, want) {
				t.Fatalf("%+v:\n%+v\nwant\n%+v", q, got, want)
			}
			for _, p := range pages {
				m.checkGap(t, q, p)
				q.after = p.next
			}
		}
	})
}

func (m *model) checkGap(t *rapid.T, q query, p page) {
	first := m.firstMissing(q, p.next)
	if (first > 0) != (p.gap != nil) {
		t.Fatalf("%+v up to %d: gap %+v, but the first that is missing is %d", q, p.next, p.gap, first)
	}
	if p.gap == nil {
		return
	}
	if p.gap.Requested >= first {
		t.Fatalf("%+v: gap %+v, but the first that is missing is %d", q, p.gap, first)
	}
	begin := first
	if q.session == "" {
		begin = p.gap.Requested + 1
	}
	for i := begin; i < min(p.gap.Oldest, uint64(len(m.places))); i++ {
		if len(m.places[i].events) > 0 && (q.session == "" || q.session == m.places[i].session) {
			t.Fatalf("%+v: %d is there, within %+v; %d is missing", q, i, p.gap, first)
		}
	}
}

func weighAll(events []event.Event) int {
	n := 0
	for _, e := range events {
		n += weigh(e)
	}
	return n
}

// TestRingUsual are the bounds that a ring has when none are named.
func TestRingUsual(t *testing.T) {
	var r ring
	const more = 10
	for c := uint64(1); c <= ringEvents+more; c++ {
		r.add(c, []event.Event{{Cursor: c, Body: event.Turn{}}})
	}
	if len(r.events) != ringEvents || r.from != more || r.covers(more-1) || !r.covers(more) {
		t.Errorf("%d events, from %d", len(r.events), r.from)
	}
	big := event.Event{Cursor: r.upto + 1, Body: event.Requested{Request: event.Request{Shown: strings.Repeat("x", ringBytes)}}}
	r.add(big.Cursor, []event.Event{big})
	if len(r.events) != 0 || r.bytes != 0 || r.from != big.Cursor || r.upto != big.Cursor {
		t.Errorf("an event that has no room: %d events, %d bytes, from %d", len(r.events), r.bytes, r.from)
	}
	if p := r.page(query{after: r.upto, types: event.All(), limit: 1}); len(p.events) > 0 || p.next != r.upto || p.more || p.gap != nil {
		t.Errorf("the end: %+v", p)
	}
}
