package actor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/lru"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// shelf is a journal and its snapshots, as a test puts them there.
type shelf struct {
	events map[uint64]envelope.Event
	last   uint64
	snap   *bus.Snapshot
	reads  int
}

func (h *shelf) Stamp(*envelope.Event) {}
func (h *shelf) Append(context.Context, envelope.Event) (uint64, error) {
	return 0, errors.New("nobody appends here")
}
func (h *shelf) Last(context.Context, session.ID) (uint64, error) { return h.last, nil }
func (h *shelf) Get(_ context.Context, c uint64) (envelope.Event, error) {
	h.reads++
	if e, ok := h.events[c]; ok {
		return e, nil
	}
	return envelope.Event{}, bus.ErrNoEvent
}

func (h *shelf) LoadSnapshot(context.Context, session.ID) (bus.Snapshot, bool, error) {
	if h.snap == nil {
		return bus.Snapshot{}, false, nil
	}
	return *h.snap, true, nil
}

func (h *shelf) SaveSnapshot(_ context.Context, _ session.ID, s bus.Snapshot) error {
	h.snap = &s
	return nil
}

func (h *shelf) DropSnapshot(context.Context, session.ID) error { h.snap = nil; return nil }

const one session.ID = "main.http.test.one"

// put stores a chain of messages at cursors; a negative one is a tombstone.
func (h *shelf) put(prev uint64, cursors ...int) {
	for _, n := range cursors {
		e := envelope.Event{ID: idOf(uint64(max(n, -n))), Session: one, Prev: prev, Cursor: uint64(max(n, -n)), Body: messagev1.Received{}}
		if n < 0 {
			e.Body = turnv1.SessionDeleted{}
		}
		h.events[e.Cursor] = e
		prev, h.last = e.Cursor, e.Cursor
	}
}

func idOf(cursor uint64) string { return fmt.Sprint("e", cursor) }

// trail is the fold of these tests: the cursors it has seen.
type trail []uint64

func (h *shelf) folder() *folds[trail] {
	p := Ports{Journal: h, Snapshots: h, Log: slog.New(slog.DiscardHandler)}
	return newFolds(p, "2", func(s trail, e envelope.Event) trail {
		return append(slices.Clip(s), e.Cursor)
	}, lru.Limits{Entries: 4, Bytes: 1 << 20})
}

func (h *shelf) kept(version string, cursors ...uint64) {
	state, err := json.Marshal(trail(cursors))
	if err != nil {
		panic(err)
	}
	last := cursors[len(cursors)-1]
	h.snap = &bus.Snapshot{Version: version, Cursor: last, Event: idOf(last), State: state}
}

func TestFold(t *testing.T) {
	for name, c := range map[string]struct {
		put   func(h *shelf)
		upto  uint64
		want  string // of the fold; "": an error
		reads int
	}{
		"all of it":                  {func(h *shelf) { h.put(0, 1, 4, 9) }, 0, "[1 4 9]", 3},
		"a part":                     {func(h *shelf) { h.put(0, 1, 4, 9) }, 4, "[1 4]", 2},
		"nothing":                    {func(*shelf) {}, 0, "[]", 0},
		"from its snapshot":          {func(h *shelf) { h.put(0, 1, 4, 9); h.kept("2", 1, 4) }, 0, "[1 4 9]", 2},
		"a snapshot that is newer":   {func(h *shelf) { h.put(0, 1, 4, 9); h.kept("2", 1, 4, 9) }, 4, "[1 4]", 2},
		"a snapshot of other code":   {func(h *shelf) { h.put(0, 1, 4, 9); h.kept("1", 1, 4) }, 0, "[1 4 9]", 3},
		"a snapshot of another past": {func(h *shelf) { h.put(0, 1, 6, 9); h.kept("2", 1, 4) }, 0, "[1 6 9]", 4},
		"a snapshot of a lost past, at a cursor that was used again": {func(h *shelf) {
			h.put(0, 1, 4, 9)
			h.kept("2", 2, 3, 4)
			h.snap.Event = "lost"
		}, 0, "[1 4 9]", 4},
		"a snapshot of before there were ids": {func(h *shelf) { h.put(0, 1, 4, 9); h.kept("2", 1, 4); h.snap.Event = "" }, 0, "[1 4 9]", 4},
		"unreadable snapshot":                 {func(h *shelf) { h.put(0, 1, 4); h.kept("2", 1); h.snap.State = []byte(`{`) }, 0, "[1 4]", 3},
		"a missing event":                     {func(h *shelf) { h.put(0, 1, 4, 9); delete(h.events, 4) }, 0, "", 0},
		"the newest is missing":               {func(h *shelf) { h.put(0, 1, 4, 9); delete(h.events, 9) }, 9, "", 0},
		"deleted":                             {func(h *shelf) { h.put(5, -9) }, 0, "[9]", 1},
		"deleted, and written to":             {func(h *shelf) { h.put(5, -9, 12) }, 0, "[9 12]", 2},
		"deleted, not purged yet":             {func(h *shelf) { h.put(0, 1, 4, -9, 12) }, 0, "[9 12]", 2},
		"deleted after what is sought":        {func(h *shelf) { h.put(5, -9) }, 5, "[9]", 2},
		"a snapshot below the deleted":        {func(h *shelf) { h.put(5, -9, 12); h.kept("2", 1, 4) }, 0, "[9 12]", 3},
		"a stranger's event": {func(h *shelf) {
			h.put(0, 1, 4)
			h.events[1] = envelope.Event{Session: "main.http.test.two", Cursor: 1, Body: messagev1.Received{}}
		}, 0, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := &shelf{events: map[uint64]envelope.Event{}}
			c.put(h)
			got, cursor, err := h.folder().Fold(t.Context(), one, c.upto)
			switch {
			case c.want == "":
				if err == nil {
					t.Errorf("folded to %v", got)
				}
			case err != nil:
				t.Error(err)
			case fmt.Sprint(got) != c.want, h.reads != c.reads, len(got) > 0 && cursor != got[len(got)-1]:
				t.Errorf("folded to %v at %d with %d reads, want %s with %d", got, cursor, h.reads, c.want, c.reads)
			}
		})
	}
}

// TestFoldGoesOn: what was folded before is not read again, unless the session has another past by now.
func TestFoldGoesOn(t *testing.T) {
	h := &shelf{events: map[uint64]envelope.Event{}}
	f := h.folder()
	fold := func(want string, reads int) {
		t.Helper()
		h.reads = 0
		got, _, err := f.Fold(t.Context(), one, 0)
		if err != nil || fmt.Sprint(got) != want || h.reads != reads {
			t.Errorf("folded to %v with %d reads, %v; want %s with %d", got, h.reads, err, want, reads)
		}
	}
	h.put(0, 1, 4)
	fold("[1 4]", 2)
	h.put(4, 9)
	fold("[1 4 9]", 1)
	fold("[1 4 9]", 0)
	h.put(9, -12)
	fold("[12]", 1)
	clear(h.events) // as if nobody had ever been here
	h.put(0, 20, 21)
	fold("[20 21]", 2)
}

// TestAdvanceOverATombstone: a fold that sees a session die has no past, as one that reads it later.
func TestAdvanceOverATombstone(t *testing.T) {
	h := &shelf{events: map[uint64]envelope.Event{}}
	h.put(0, 1, 4, -9)
	f := h.folder()
	var at folded[trail]
	for _, c := range []uint64{1, 4, 9} {
		var ok bool
		if at, ok = f.advance(at, h.events[c]); !ok {
			t.Fatalf("event %d was not folded", c)
		}
	}
	if fmt.Sprint(at.state) != "[9]" {
		t.Errorf("folded to %v", at.state)
	}
}
