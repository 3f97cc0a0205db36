package intake

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/session"
)

func TestLanes(t *testing.T) {
	l := newLanes()
	const s = session.ID("main.http.a.b")
	var (
		wg    sync.WaitGroup
		count int // guarded by the lane: the race detector watches
	)
	for range 64 {
		wg.Go(func() {
			ln, err := l.enter(t.Context(), s)
			if err != nil {
				t.Error(err)
				return
			}
			count++
			l.leave(s, ln)
		})
	}
	wg.Wait()
	ln, err := l.enter(t.Context(), s)
	if err != nil || count != 64 {
		t.Fatalf("%d entered, %v", count, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.enter(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("a busy lane let in: %v", err)
	}
	other, err := l.enter(t.Context(), "main.http.a.c")
	if err != nil {
		t.Fatalf("another session waits: %v", err)
	}
	l.leave("main.http.a.c", other)
	l.leave(s, ln)
	if len(l.open) != 0 {
		t.Errorf("%d lanes are left", len(l.open))
	}
}

func TestCursors(t *testing.T) {
	c := newCursors()
	c.saw("a", 5)
	c.saw("a", 3)
	if got := c.of("a"); got != 5 {
		t.Errorf("a: %d", got)
	}
	for i := range 2*cursorsMax - 1 {
		c.saw(session.ID(strconv.Itoa(i)), 1)
		if i == cursorsMax { // a is old by now, and seen again
			c.saw("a", 4)
		}
	}
	if got := c.of("a"); got != 5 {
		t.Errorf("a, seen again with an older cursor: %d", got)
	}
	if n := len(c.young) + len(c.old); n > 2*cursorsMax {
		t.Errorf("%d sessions are remembered", n)
	}
	if got := c.of("never"); got != 0 {
		t.Errorf("unknown: %d", got)
	}
}
