package bridge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/services/bridge/event"
)

// seen collects the ids of messages, as somebody is told of them.
type seen struct {
	ids  []string
	done chan struct{} // closed with the last
}

func (s *seen) add(id, last string) bool {
	s.ids = append(s.ids, id)
	if id == last {
		close(s.done)
		return true
	}
	return false
}

// TestConnectionIsCut: over connections that come and go nothing is missed, nothing is told twice, and the order stays.
func TestConnectionIsCut(t *testing.T) {
	const cuts, each = 6, 15
	h := newHouse(t)
	b := newBridge(t, nil)
	end := h.attach(b)
	cs := h.connect(b, "test")
	const all = 2*cuts*each + 1
	id := func(n int) string { return fmt.Sprintf("e%d", n) }
	polled, waited, pushed := &seen{done: make(chan struct{})}, &seen{done: make(chan struct{})}, &seen{done: make(chan struct{})}
	follow := func(tool string, into *seen, last string) {
		for next, over := uint64(0), false; !over; {
			got, err := try(t.Context(), cs, tool, args{"after_cursor": next})
			if err != nil || got.Gap != nil {
				t.Errorf("%s after %d: %+v, %v", tool, next, got, err)
				close(into.done)
				return
			}
			if got.Event != nil && len(got.Events) == 0 {
				got.Events = []heardEvent{*got.Event}
			}
			for _, e := range got.Events {
				over = into.add(e.ID, last)
			}
			next = got.Next
		}
	}
	go follow("events_poll", polled, id(all)) // a question that is lost with the server would be repeated only after its time
	go follow("events_wait", waited, id(all+1))
	pushing := make(chan struct{})
	go func() {
		defer close(pushing)
		b.push(t.Context(), []event.Type{event.MessageType}, func(_ context.Context, e event.Event) {
			if m, ok := e.Body.(event.Message); ok {
				pushed.add(m.ID, id(all+1))
			}
		})
	}()
	t.Cleanup(func() { <-pushing })
	var want []string
	say := func(n int) {
		for range n {
			want = append(want, h.says(annas, "x").ID)
		}
	}
	for range cuts {
		say(each)
		end()
		say(each)
		end = h.attach(b)
	}
	say(1)
	come := func(name string, s *seen) {
		t.Helper()
		late := time.NewTimer(patience)
		defer late.Stop()
		select {
		case <-s.done:
		case <-late.C:
			t.Fatalf("%s: the last one does not come", name)
		}
		if !slices.Equal(s.ids, want) {
			t.Errorf("%s: %v", name, s.ids)
		}
	}
	h.caughtUp(b)
	come("polled", polled)
	h.bus.Restart()
	say(1)
	come("waited", waited)
	come("pushed", pushed)
}

// TestOtherJournal: in the place of a journal there is another one. Cursors of the old one are refused, not taken for its own.
func TestOtherJournal(t *testing.T) {
	first, second := newHouse(t), newHouse(t)
	b := newBridge(t, nil)
	end := first.attach(b)
	for range 5 {
		first.says(annas, "first")
	}
	upto := first.caughtUp(b)
	cs := first.connect(b, "test")
	waits := make(chan error)
	go func() {
		_, err := try(t.Context(), cs, "events_wait", args{"after_cursor": upto})
		waits <- err
	}()
	end()
	second.says(bobs, "second, before")
	second.attach(b)
	if err := <-waits; err == nil || !strings.Contains(err.Error(), "after_cursor 5 is not of this journal, which ends at 1") {
		t.Errorf("who has waited: %v", err)
	}
	second.says(bobs, "second")
	if got := call(t, cs, "events_poll", nil); texts(got.Events) != "second" || got.Next != 2 {
		t.Errorf("since it began there: %+v", got)
	}
	if got := call(t, cs, "events_poll", args{"after_cursor": 0}); texts(got.Events) != "second, before,second" {
		t.Errorf("all of it: %+v", got)
	}
	if got, err := try(t.Context(), cs, "events_poll", args{"after_cursor": upto}); err == nil {
		t.Errorf("a cursor of the old one: %+v", got)
	}
}

// TestAway: without a jetclaw calls wait for one, and say so when none comes.
func TestAway(t *testing.T) {
	h := newHouse(t)
	b := newBridge(t, func(c *Config) { c.Patience = time.Millisecond })
	cs := h.connect(b, "test")
	refused := func(when string, in ...args) {
		t.Helper()
		for _, in := range in {
			for _, tool := range []string{"events_poll", "events_wait"} {
				if got, err := try(t.Context(), cs, tool, in); err == nil || !strings.Contains(err.Error(), "jetclaw is not running") {
					t.Errorf("%s: %s %v: %+v, %v", when, tool, in, got, err)
				}
			}
		}
	}
	refused("before the first", args{}, args{"after_cursor": 0}, args{"after_cursor": 9})
	end := h.attach(b)
	h.says(annas, "1")
	h.caughtUp(b)
	end()
	refused("after it", args{"after_cursor": 9})
	if got, err := try(t.Context(), cs, "events_wait", args{"after_cursor": 1, "timeout_ms": 1}); err == nil || !strings.Contains(err.Error(), "not running") {
		t.Errorf("a wait that ends while nobody is there: %+v, %v", got, err)
	}
	if got := call(t, cs, "events_wait", args{"after_cursor": 0}); got.Event == nil || got.Event.Text != "1" {
		t.Errorf("from memory: %+v", got)
	}
}

// TestPatience: a call that comes before jetclaw does is answered when that is there.
func TestPatience(t *testing.T) {
	h := newHouse(t)
	h.says(annas, "1")
	b := newBridge(t, func(c *Config) { c.Patience = patience })
	handlers := make(chan step, 8)
	watch(b, handlers)
	cs := h.connect(b, "test")
	got := make(chan heard)
	for _, tool := range []string{"events_poll", "events_wait"} {
		go func() { got <- call(t, cs, tool, args{"after_cursor": 0}) }()
		<-handlers
	}
	h.attach(b)
	for range 2 {
		if got := <-got; got.Next != 1 || got.Event == nil && texts(got.Events) != "1" || got.Event != nil && got.Event.Text != "1" {
			t.Errorf("%+v", got)
		}
	}
}

func TestNewNeedsALogger(t *testing.T) {
	if b, err := New(Config{}); err == nil {
		t.Errorf("%+v", b)
	}
	if b := newBridge(t, nil); b.config.Claude != Auto || b.config.Patience != DefaultPatience {
		t.Errorf("what a bridge does when it is told nothing: %+v", b.config)
	}
}
