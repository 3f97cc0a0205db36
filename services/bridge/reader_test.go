package bridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/bridge/event"
)

// journal is a random part of a journal, and what clients are to be told of it.
type journal struct {
	h     *house
	begin uint64 // its last cursor before
	told  []event.Event
	open  map[session.ID][]string // approvals
	gone  []envelope.Event        // of deleted sessions, by which it can be said what is missing
	stays map[session.ID][]envelope.Event
}

func (j *journal) add(s session.ID, b envelope.Body, executor string) {
	ev := j.h.append(s, b)
	j.stays[s] = append(j.stays[s], ev)
	j.told = append(j.told, event.Of(ev, executor)...)
}

func (j *journal) step(t *rapid.T, rooms []session.ID) {
	s := rapid.SampledFrom(rooms).Draw(t, "session")
	switch rapid.IntRange(0, 8).Draw(t, "what") {
	case 0, 1:
		j.add(s, messagev1.Received{From: messagev1.Sender{ID: "telegram:1"}, Text: fmt.Sprint(j.h.n)}, "")
	case 2:
		j.add(s, turnv1.Completed{Outcome: turnv1.Outcome{Turn: "t"}, Text: fmt.Sprint(j.h.n)}, "")
	case 3:
		j.add(s, deliveryv1.Started{}, "")
	case 4:
		j.add(s, deliveryv1.Sent{}, "")
	case 5:
		id, executor := fmt.Sprint("a", j.h.n), rapid.SampledFrom([]string{"builtin", "mcp-files"}).Draw(t, "executor")
		j.open[s] = append(j.open[s], id+" "+executor)
		j.add(s, approvalv1.Requested{Approval: id, Request: callv1.Request{Executor: executor, Arguments: json.RawMessage("{}")}}, executor)
	case 6, 7:
		if len(j.open[s]) > 0 {
			id, executor, _ := strings.Cut(j.open[s][0], " ")
			j.open[s] = j.open[s][1:]
			j.add(s, approvalv1.Decided{Ref: approvalv1.Ref{Approval: id}}, executor)
		}
	case 8:
		if len(j.stays[s]) > 0 {
			j.gone = append(j.gone, j.stays[s]...)
			j.stays[s] = []envelope.Event{j.h.delete(s)}
			j.open[s] = nil
			j.told = slices.DeleteFunc(j.told, func(e event.Event) bool { return e.Session == s })
		}
	}
}

func (j *journal) want(q query) (out []event.Event) {
	for _, e := range j.told {
		if e.Cursor > q.after && q.wants(e) {
			out = append(out, e)
		}
	}
	return out
}

// missing says whether something of the journal is missing in a part of it, and, with told, whether clients were told of that.
func (j *journal) missing(q query, next uint64, told bool) bool {
	return slices.ContainsFunc(j.gone, func(ev envelope.Event) bool {
		return ev.Cursor > q.after && ev.Cursor <= next && (q.session == "" || q.session == ev.Session) && (!told || len(event.Of(ev, "")) > 0)
	})
}

// TestPagesOfJournalAndMemory: a page is the same whether it was read from the journal or from memory.
func TestPagesOfJournalAndMemory(t *testing.T) {
	h := newHouse(t)
	conn := h.bus.Connect(t, Name)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		var rooms []session.ID
		for i := range 3 {
			rooms = append(rooms, session.ID(fmt.Sprintf("main.http.run%d.p%d", runs, i)))
		}
		b := newBridge(t, nil)
		end := h.attach(b)
		defer end()
		j := &journal{h: h, begin: h.caughtUp(b), open: map[session.ID][]string{}, stays: map[session.ID][]envelope.Event{}}
		for range rapid.IntRange(0, 25).Draw(rt, "steps") {
			j.step(rt, rooms)
		}
		upto := h.caughtUp(b)
		for range 10 {
			q := query{
				after:   rapid.Uint64Range(j.begin, upto).Draw(rt, "after"),
				session: rapid.SampledFrom(append(rooms, "", "", "")).Draw(rt, "of"),
				types:   rapid.SampledFrom([][]event.Type{event.All(), event.Usual(), {event.ExecResolved, event.DeliveryType}}).Draw(rt, "types"),
				limit:   rapid.IntRange(1, 4).Draw(rt, "limit"),
			}
			want := j.want(q)
			for where, read := range map[string]func(query) page{
				"memory": func(q query) page {
					p, _, ok, err := b.reader.look(q)
					if err != nil || !ok {
						rt.Fatalf("look %+v: %v, %v", q, ok, err)
					}
					return p
				},
				"journal": func(q query) page {
					p, err := past(t.Context(), conn, q, upto)
					if err != nil {
						rt.Fatal(err)
					}
					return p
				},
			} {
				got, pages := walk(rt, q, upto, read)
				if !same(got, want) {
					rt.Fatalf("%s, %+v:\n%+v\nwant\n%+v", where, q, got, want)
				}
				q := q
				for _, p := range pages {
					if p.gap == nil && j.missing(q, p.next, true) || p.gap != nil && !j.missing(q, p.next, false) {
						rt.Fatalf("%s, %+v up to %d: gap %+v", where, q, p.next, p.gap)
					}
					q.after = p.next
				}
			}
		}
	})
}

// TestGap: what was purged before a bridge began shows as a gap, once, and with its place.
func TestGap(t *testing.T) {
	h := newHouse(t)
	h.says(bobs, "1")
	h.says(annas, "2")
	h.says(annas, "3")
	h.says(bobs, "4")
	stone := h.delete(annas)
	h.says(bobs, "6")
	b := h.started()
	for _, c := range []struct {
		q     query
		texts int
		next  uint64
		gap   *Gap
	}{
		{query{after: 0, limit: 1}, 1, 1, nil}, // it lies behind the page
		{query{after: 0, limit: 2}, 2, 4, &Gap{1, 4}},
		{query{after: 0, limit: 9}, 3, 6, &Gap{1, 4}},
		{query{after: 1, limit: 9}, 2, 6, &Gap{1, 4}},
		{query{after: 2, limit: 9}, 2, 6, &Gap{2, 4}},
		{query{after: 3, limit: 9}, 2, 6, nil},
		{query{after: 0, limit: 9, session: bobs}, 3, 6, nil},
		{query{after: 0, limit: 9, session: annas}, 0, 6, &Gap{0, stone.Cursor}},
		{query{after: 2, limit: 9, session: annas}, 0, 6, &Gap{2, stone.Cursor}},
		{query{after: 3, limit: 9, session: annas}, 0, 6, nil},
	} {
		c.q.types = event.Usual()
		p, _, err := b.glance(t.Context(), c.q)
		if err != nil || len(p.events) != c.texts || p.next != c.next || (p.gap == nil) != (c.gap == nil) || p.gap != nil && *p.gap != *c.gap {
			t.Errorf("%+v: %d events, next %d, gap %+v, %v; want %+v", c.q, len(p.events), p.next, p.gap, err, c)
		}
	}
	h.says(bobs, "7")
	h.says(annas, "8: after the end of it")
	h.delete(bobs)
	conn, _ := b.line.now()
	if p, err := past(t.Context(), conn, query{after: stone.Cursor, types: event.Usual(), limit: 9}, 7); err != nil || p.gap == nil || *p.gap != (Gap{stone.Cursor, 8}) {
		t.Errorf("what is missing at the end of a page: %+v, %v", p, err)
	}
}

// TestKinds: whose tool an approval was about is found in the journal when its question lies before the page, or before the bridge.
func TestKinds(t *testing.T) {
	h := newHouse(t)
	for i, executor := range []string{"builtin", "mcp-files"} {
		h.append(annas, approvalv1.Requested{Approval: fmt.Sprint(i), Request: callv1.Request{Executor: executor}})
	}
	for range 20 {
		h.says(annas, "x")
	}
	early := h.append(annas, approvalv1.Expired{Ref: approvalv1.Ref{Approval: "0"}})
	h.append(annas, approvalv1.Voided{Ref: approvalv1.Ref{Approval: "1"}})
	b := h.started()
	h.append(annas, approvalv1.Decided{Ref: approvalv1.Ref{Approval: "0"}})
	h.append(annas, approvalv1.Cancelled{Ref: approvalv1.Ref{Approval: "1"}})
	h.append(annas, approvalv1.Decided{Ref: approvalv1.Ref{Approval: "nobody knows"}})
	h.caughtUp(b)
	want := []event.Type{event.ExecResolved, event.PluginResolved, event.ExecResolved, event.PluginResolved, event.PluginResolved}
	for after, want := range map[uint64][]event.Type{early.Cursor - 1: want, early.Cursor + 1: want[2:]} { // journal, memory
		p, _, err := b.glance(t.Context(), query{after: after, types: event.All(), limit: 9})
		if err != nil {
			t.Fatal(err)
		}
		var got []event.Type
		for _, e := range p.events {
			got = append(got, e.Type)
		}
		if !slices.Equal(got, want) {
			t.Errorf("from %d: %v", after, got)
		}
	}
	k := newKinds()
	for i := range 3 * maxKinds {
		k.keep(fmt.Sprint(i), "builtin")
		k.keep(fmt.Sprint(i), "builtin")
	}
	if len(k.executors) != maxKinds || len(k.order) != maxKinds || k.executors[fmt.Sprint(3*maxKinds-1)] == "" {
		t.Errorf("%d executors of %d", len(k.executors), len(k.order))
	}
}

// TestFromTheFuture: a cursor that the journal has not reached is of another one.
func TestFromTheFuture(t *testing.T) {
	h := newHouse(t)
	b := h.started()
	last := h.says(annas, "1").Cursor
	h.caughtUp(b)
	if _, _, err := b.glance(t.Context(), query{after: last + 1, types: event.Usual(), limit: 1}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("glance: %v", err)
	}
	cs := h.connect(b, "test")
	for _, tool := range []string{"events_poll", "events_wait"} {
		if out, err := try(t.Context(), cs, tool, args{"after_cursor": last + 1}); err == nil || !strings.Contains(err.Error(), "not of this journal, which ends at 1") {
			t.Errorf("%s: %+v, %v", tool, out, err)
		}
	}
	if got := call(t, cs, "events_poll", args{"after_cursor": last}); len(got.Events) > 0 || got.Next != last {
		t.Errorf("at the end: %+v", got)
	}
}

// TestServerIsAwayWhileAnEventIsTaken: one for which the journal has to be asked again is not left out.
func TestServerIsAwayWhileAnEventIsTaken(t *testing.T) {
	h := newHouse(t)
	h.append(annas, approvalv1.Requested{Approval: "0", Request: callv1.Request{Executor: "builtin"}})
	b := newBridge(t, nil)
	conn := h.bus.Connect(t, Name)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for t.Context().Err() == nil {
			if err := b.Attach(t.Context(), conn); err != nil {
				b.log.Info("attach it again", "error", err)
			}
		}
	}()
	t.Cleanup(func() { <-ended })
	for range 2 { // what comes after the first of them is no longer read from the journal, but announced
		h.says(annas, "0")
		h.caughtUp(b)
	}
	lost := conn.NATS().StatusChanged(nats.RECONNECTING)
	b.reader.mu.Lock() // it stops before the message
	h.says(annas, "1")
	h.append(annas, approvalv1.Expired{Ref: approvalv1.Ref{Approval: "0"}})
	if err := conn.NATS().Flush(); err != nil { // both were announced to it
		t.Fatal(err)
	}
	back := make(chan struct{})
	go func() { defer close(back); h.bus.Restart() }()
	<-lost
	b.reader.mu.Unlock()
	<-back
	h.caughtUp(b)
	p, _, err := b.glance(t.Context(), query{after: 3, types: event.Usual(), limit: 9})
	if err != nil || len(p.events) != 2 || p.events[1].Type != event.ExecResolved || p.gap != nil {
		t.Errorf("%+v, %v", p, err)
	}
}
