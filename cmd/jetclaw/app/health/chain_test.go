package health_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// message is one of a journal as a test has it.
type message struct {
	id           session.ID
	cursor, prev uint64
	tombstone    bool
	alien        bool
}

func breaks(from uint64, messages ...message) []health.Break {
	c := health.Chain{From: from}
	for _, m := range messages {
		c.Event(m.id, m.cursor, m.prev, m.tombstone, !m.alien)
	}
	return c.Breaks()
}

func TestChain(t *testing.T) {
	const a, b = session.ID("main.http.test.a"), session.ID("main.http.test.b")
	for name, c := range map[string]struct {
		from     uint64
		messages []message
		want     string
	}{
		"whole":                      {1, []message{{id: a, cursor: 1}, {id: b, cursor: 2}, {id: a, cursor: 3, prev: 1}, {id: b, cursor: 4, prev: 2}}, ""},
		"one is missing":             {1, []message{{id: a, cursor: 1}, {id: a, cursor: 5, prev: 3}, {id: a, cursor: 6, prev: 5}}, "a 5 misses 3"},
		"the first is missing":       {1, []message{{id: a, cursor: 5, prev: 3}}, "a 5 misses 3"},
		"below what is looked at":    {4, []message{{id: a, cursor: 5, prev: 3}, {id: a, cursor: 6, prev: 5}}, ""},
		"within what is looked at":   {4, []message{{id: a, cursor: 7, prev: 4}}, "a 7 misses 4"},
		"a tombstone explains it":    {1, []message{{id: a, cursor: 5, prev: 3}, {id: a, cursor: 7, prev: 6, tombstone: true}, {id: a, cursor: 8, prev: 7}}, ""},
		"but not what is above":      {1, []message{{id: a, cursor: 7, prev: 6, tombstone: true}, {id: a, cursor: 9, prev: 8}}, "a 9 misses 8"},
		"one passes another by":      {1, []message{{id: a, cursor: 1}, {id: a, cursor: 2, prev: 1}, {id: a, cursor: 3, prev: 1}}, "a 3 passes 2"},
		"a message that is no event": {1, []message{{id: a, cursor: 1}, {id: a, cursor: 2, alien: true}, {id: a, cursor: 3, prev: 2}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, b := range breaks(c.from, c.messages...) {
				if b.Missing {
					got += fmt.Sprintf("%s %d misses %d", b.Session.Peer(), b.At, b.Prev)
				} else {
					got += fmt.Sprintf("%s %d passes %d", b.Session.Peer(), b.At, b.Before)
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestChainFindsEveryHole: of whole journals every window is whole, and each message that is taken out and has one above it in
// its session shows, there and nowhere else.
func TestChainFindsEveryHole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		last := map[session.ID]uint64{}
		var journal []message
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 11), 1, 40).Draw(rt, "sessions") {
			m := message{id: session.ID(fmt.Sprint("main.http.test.s", n%4)), cursor: uint64(i + 1), tombstone: n == 11}
			m.prev, last[m.id] = last[m.id], m.cursor
			journal = append(journal, m)
		}
		from := rapid.IntRange(0, len(journal)-1).Draw(rt, "from")
		if got := breaks(uint64(from+1), journal[from:]...); len(got) > 0 {
			rt.Fatalf("the window from %d of a whole journal: %+v", from+1, got)
		}
		hole := rapid.IntRange(0, len(journal)-1).Draw(rt, "hole")
		gone := journal[hole]
		above := -1
		for i := hole + 1; i < len(journal) && above < 0; i++ {
			if journal[i].id == gone.id {
				above = i
			}
		}
		explained := above < 0
		for _, m := range journal[hole+1:] {
			explained = explained || m.id == gone.id && m.tombstone
		}
		got := breaks(1, slices.Concat(journal[:hole], journal[hole+1:])...)
		switch {
		case explained && len(got) > 0:
			rt.Fatalf("explained, and yet %+v", got)
		case !explained && (len(got) != 1 || got[0].At != journal[above].cursor || got[0].Prev != gone.cursor || !got[0].Missing):
			rt.Fatalf("without %+v: %+v", gone, got)
		}
	})
}
