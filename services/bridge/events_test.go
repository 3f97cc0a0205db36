package bridge

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// knows stands in for the service that knows conversations: there are those of some people.
func (h *house) knows(sessions ...session.ID) {
	h.serve(conversations, "get", func(_ context.Context, data []byte) (any, error) {
		for _, s := range sessions {
			if strings.Contains(string(data), string(s)) {
				return map[string]any{"conversation": map[string]any{"session": s}}, nil
			}
		}
		return nil, fault.New(fault.NotFound, "no such conversation")
	})
}

func TestPoll(t *testing.T) {
	h := newHouse(t)
	h.knows(annas, bobs)
	h.says(annas, "before")
	b := h.started()
	cs := h.connect(b, "test")
	if got := call(t, cs, "events_poll", nil); len(got.Events) != 0 || got.Next != 1 || got.More || got.Gap != nil {
		t.Errorf("nothing has happened: %+v", got)
	}
	var texts []string
	for i := range 25 {
		texts = append(texts, fmt.Sprint(i))
		h.says([]session.ID{annas, bobs}[i%2], texts[i])
	}
	h.append(annas, deliveryv1.Sent{})
	first := call(t, cs, "events_poll", nil)
	if all(first) != strings.Join(texts[:20], ",") || first.Next != 21 || !first.More {
		t.Errorf("without anything: %+v", first)
	}
	if got := call(t, cs, "events_poll", args{"after_cursor": first.Next}); all(got) != strings.Join(texts[20:], ",") || got.Next != 27 || got.More {
		t.Errorf("the rest: %+v", got)
	}
	if got := call(t, cs, "events_poll", nil); got.Next != first.Next || all(got) != all(first) {
		t.Errorf("without a cursor it is always since the server began: %+v", got)
	}
	if got := call(t, cs, "events_poll", args{"after_cursor": 0, "limit": 200}); all(got) != "before,"+strings.Join(texts, ",") {
		t.Errorf("from the beginning: %+v", got)
	}
	if got := call(t, cs, "events_poll", args{"after_cursor": 1, "session_key": bobs, "limit": 2}); all(got) != "1,3" || got.Next != 5 || !got.More {
		t.Errorf("of a conversation: %+v", got)
	}
	if got := call(t, cs, "events_poll", args{"types": []string{"delivery"}}); len(got.Events) != 1 || got.Events[0].Type != "delivery" || got.Events[0].Cursor != 27 {
		t.Errorf("of a type: %+v", got)
	}
}

// TestBadArguments: what a tool does not know it does not pass by.
func TestBadArguments(t *testing.T) {
	h := newHouse(t)
	h.knows(annas)
	cs := h.connect(h.started(), "test")
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"limit": 0}, "limit"},
		{args{"limit": 201}, "limit"},
		{args{"limit": -1}, "limit"},
		{args{"limit": "5"}, "limit"},
		{args{"limit": 1.5}, "limit"},
		{args{"after_cursor": "0"}, "after_cursor"},
		{args{"after_cursor": -1}, "after_cursor"},
		{args{"after_cursor": 1e16}, "after_cursor"},
		{args{"after_cursor": nil}, "after_cursor"},
		{args{"timeout_ms": 0}, "timeout_ms"},
		{args{"timeout_ms": 300_001}, "timeout_ms"},
		{args{"timeout_ms": "1"}, "timeout_ms"},
		{args{"types": []string{"noise"}}, "types"},
		{args{"types": "message"}, "types"},
		{args{"types": nil}, "types"},
		{args{"session_key": "nobody"}, "conversation not found: nobody"},
		{args{"session_key": bobs}, "conversation not found: " + string(bobs)},
		{args{"cursor": 1}, "cursor"},
	} {
		for _, tool := range []string{"events_poll", "events_wait"} {
			if c.in["after_cursor"] == nil && c.in["timeout_ms"] == nil && tool == "events_wait" {
				c.in["timeout_ms"] = 1 // should it be taken after all
			}
			got, err := try(t.Context(), cs, tool, c.in)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %v: %+v, %v", tool, c.in, got, err)
			}
		}
	}
}

func TestWait(t *testing.T) {
	h := newHouse(t)
	h.knows(annas, bobs)
	h.says(annas, "before")
	b := h.started()
	cs := h.connect(b, "test")
	if got := call(t, cs, "events_wait", args{"timeout_ms": 1}); got.Event != nil || got.Next != 1 {
		t.Errorf("nothing happens: %+v", got)
	}
	for _, c := range []struct{ in, want string }{{"", "1"}, {bobs.String(), "2"}, {"turn_completed", ""}} {
		in := args{}
		if strings.Contains(c.in, ".") {
			in["session_key"] = c.in
		} else if c.in != "" {
			in["types"] = []string{c.in}
		}
		begin, got := h.caughtUp(b), make(chan heard)
		go func() { got <- call(t, cs, "events_wait", in) }()
		for done := false; !done; { // it may have been asked for before any of them
			h.says(annas, "1")
			h.says(bobs, "2")
			h.append(annas, turnv1.Completed{Text: "3"})
			select {
			case got := <-got:
				done = true
				if got.Event == nil || got.Event.Cursor <= begin || got.Next != got.Event.Cursor || c.in != "" && got.Event.Text != c.want {
					t.Errorf("%v: %+v", in, got)
				}
			default:
			}
		}
	}
	if got := call(t, cs, "events_wait", args{"after_cursor": 0}); got.Event == nil || got.Event.Text != "before" || got.Next != 1 {
		t.Errorf("the first of all: %+v", got)
	}
	upto := h.append(annas, turnv1.Completed{Text: "3"}).Cursor
	two := call(t, cs, "events_wait", args{"after_cursor": upto - 1, "types": []string{"message", "turn_completed"}})
	if len(two.Events) != 2 || two.Event == nil || *two.Event != two.Events[0] || two.Next != upto {
		t.Errorf("two at one cursor: %+v", two)
	}
	if got := call(t, cs, "events_wait", args{"after_cursor": upto, "timeout_ms": 1}); got.Event != nil || len(got.Events) > 0 || got.Next != upto {
		t.Errorf("at the end: %+v", got)
	}
}

// TestWaitGap: who waits behind what was purged is told so at once.
func TestWaitGap(t *testing.T) {
	h := newHouse(t)
	h.says(annas, "1")
	h.delete(annas)
	cs := h.connect(h.started(), "test")
	if got := call(t, cs, "events_wait", args{"after_cursor": 0}); got.Event != nil || got.Gap == nil || *got.Gap != (Gap{0, 2}) || got.Next != 2 {
		t.Errorf("%+v", got)
	}
}

// TestWaitIsCancelled: a wait that a client has withdrawn ends at once on this side, too.
func TestWaitIsCancelled(t *testing.T) {
	h := newHouse(t)
	b := h.started()
	handlers := make(chan step, 8)
	watch(b, handlers)
	cs := h.connect(b, "test")
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := try(ctx, cs, "events_wait", args{"timeout_ms": 300_000})
		left <- err
	}()
	<-handlers
	cancel()
	if got := <-handlers; got != withdrawn {
		t.Errorf("the handler has %s", got)
	}
	if err := <-left; err == nil {
		t.Error("the client has got an answer")
	}
	call(t, cs, "events_poll", nil)
}

// step is what the handler of a call does.
type step string

const (
	begun     step = "begun"
	ended     step = "ended by itself"
	withdrawn step = "ended because its call was withdrawn"
)

// watch tells when the handler of a tool begins and how it ends.
func watch(b *Bridge, handlers chan<- step) {
	b.extend = &extension{options: func(*mcp.ServerOptions) {}, server: func(s *mcp.Server) {
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
				if method != "tools/call" {
					return next(ctx, method, r)
				}
				handlers <- begun
				res, err := next(ctx, method, r)
				if ctx.Err() != nil {
					handlers <- withdrawn
				} else {
					handlers <- ended
				}
				return res, err
			}
		})
	}}
}

// TestManyWait: one event wakes all, and is the same for all.
func TestManyWait(t *testing.T) {
	const many = 200
	h := newHouse(t)
	b := h.started()
	handlers := make(chan step, 2*many)
	watch(b, handlers)
	cs := h.connect(b, "test")
	got := make([]heard, many)
	var waiting sync.WaitGroup
	for i := range many {
		waiting.Go(func() { got[i] = call(t, cs, "events_wait", args{"after_cursor": 0}) })
	}
	for range many {
		<-handlers
	}
	ev := h.says(annas, "now")
	waiting.Wait()
	for i, g := range got {
		if g.Event == nil || g.Event.ID != ev.ID || g.Event.Cursor != ev.Cursor || g.Next != ev.Cursor {
			t.Fatalf("waiter %d: %+v", i, g)
		}
	}
}

// TestPollHasWhatIsStored: a poll has all that was stored before it was asked for.
func TestPollHasWhatIsStored(t *testing.T) {
	h := newHouse(t)
	cs := h.connect(h.started(), "test")
	next := uint64(0)
	for range 500 {
		ev := h.says(annas, "x")
		got := call(t, cs, "events_poll", args{"after_cursor": next})
		if len(got.Events) != 1 || got.Events[0].ID != ev.ID || got.Next != ev.Cursor {
			t.Fatalf("after %s: %+v", ev.ID, got)
		}
		next = got.Next
	}
}

func all(h heard) string { return texts(h.Events) }
