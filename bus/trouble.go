package bus

import (
	"sync"
	"time"
)

// trouble keeps why a connection that stands is of no use: doorbells do not come, or nobody leads the journal. Both have signs that come
// again and again while it lasts, and none of its end.
type trouble struct {
	mu    sync.Mutex
	gone  int       // guarded by mu; consumers that are looked for again
	what  string    // guarded by mu; the last sign
	since time.Time // guarded by mu; the first sign
	last  time.Time // guarded by mu; the last one
}

const (
	troubleAfter = 4 * time.Second // so long it is not told: an election, a server that restarts
	troubleOver  = 6 * time.Second // without a sign it is over: they come every 2 s
)

// sign notes one.
func (t *trouble) sign(what string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.last) > troubleOver {
		t.since = now
	}
	t.what, t.last = what, now
}

// lose and find note that a consumer is gone, and back.
func (t *trouble) lose() { t.count(1) }
func (t *trouble) find() { t.count(-1) }

func (t *trouble) count(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone += n
}

func (t *trouble) now(now time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.gone > 0:
		return "its consumer is gone"
	case now.Sub(t.last) <= troubleOver && t.last.Sub(t.since) >= troubleAfter:
		return t.what
	}
	return ""
}

// Trouble says why the connection has been of no use for some seconds, though it stands; "" while it is.
func (c *Conn) Trouble() string { return c.trouble.now(time.Now()) }
