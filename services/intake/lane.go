package intake

import (
	"context"
	"sync"

	"github.com/jetclaw/jetclaw/schemas/session"
)

// lanes let one submission at a time append to a session, so that those of this process do not lose the compare-and-set
// to each other. First come, first served; unbounded.
type lanes struct {
	mu   sync.Mutex
	open map[session.ID]*lane // guarded by mu; those in use
}

type lane struct {
	busy  chan struct{} // has room for one
	users int           // guarded by lanes.mu; holder and waiters
}

func newLanes() *lanes { return &lanes{open: make(map[session.ID]*lane)} }

func (l *lanes) enter(ctx context.Context, s session.ID) (*lane, error) {
	l.mu.Lock()
	ln := l.open[s]
	if ln == nil {
		ln = &lane{busy: make(chan struct{}, 1)}
		l.open[s] = ln
	}
	ln.users++
	l.mu.Unlock()
	select {
	case ln.busy <- struct{}{}:
		return ln, nil
	case <-ctx.Done():
		l.forget(s, ln)
		return nil, context.Cause(ctx)
	}
}

func (l *lanes) leave(s session.ID, ln *lane) {
	<-ln.busy
	l.forget(s, ln)
}

func (l *lanes) forget(s session.ID, ln *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ln.users--; ln.users == 0 {
		delete(l.open, s)
	}
}

// cursors remember the last known cursor of sessions, as the guess for the next append. Bounded: when the young
// generation is full it becomes the old one, whose content goes.
type cursors struct {
	mu    sync.Mutex
	young map[session.ID]uint64 // guarded by mu
	old   map[session.ID]uint64 // guarded by mu
}

const cursorsMax = 4096 // sessions in one generation

func newCursors() *cursors { return &cursors{young: make(map[session.ID]uint64)} }

// of is the highest cursor seen, 0 when nothing is known.
func (c *cursors) of(s session.ID) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.young[s], c.old[s])
}

func (c *cursors) saw(s session.ID, cursor uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.young[s]
	if cursor = max(cursor, known, c.old[s]); cursor == known && ok {
		return
	}
	if !ok && len(c.young) >= cursorsMax {
		c.old, c.young = c.young, make(map[session.ID]uint64, cursorsMax)
	}
	c.young[s] = cursor
}
