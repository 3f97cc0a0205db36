package bus

import (
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// Recent remembers the newest events that pass through a process, for all its connections: a session's last steps are
// appended by one service and folded by the next, and a read costs more than all else in it. What is stored under a
// cursor never changes, so a hit is as good as a read; a walk never goes below a tombstone, so what was purged is not
// asked for. Bounded; safe for concurrent use. A nil Recent remembers nothing.
type Recent struct {
	mu     sync.Mutex
	events map[uint64]recent // guarded by mu
	order  []uint64          // guarded by mu; a ring of the cursors in events
	next   int               // guarded by mu; the oldest of order
}

// recent is a message as stored, or the event that it was decoded to; then only that is kept, and subject is "".
type recent struct {
	event   envelope.Event
	subject string
	header  nats.Header
	data    []byte
}

const (
	recentEvents = 4096
	recentBody   = 2 << 10 // a larger body is not worth its memory
)

// NewRecent makes an empty memory.
func NewRecent() *Recent {
	return &Recent{events: make(map[uint64]recent), order: make([]uint64, 0, recentEvents)}
}

func (r *Recent) put(cursor uint64, e recent) {
	if r == nil || cursor == 0 || len(e.data) > recentBody {
		return
	}
	if e.subject == "" {
		e.data = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.events[cursor]; ok {
		if old.subject != "" { // decoded is better than stored
			r.events[cursor] = e
		}
		return
	}
	r.events[cursor] = e
	if len(r.order) < recentEvents {
		r.order = append(r.order, cursor)
		return
	}
	delete(r.events, r.order[r.next])
	r.order[r.next] = cursor
	r.next = (r.next + 1) % recentEvents
}

func (r *Recent) get(cursor uint64) (recent, bool) {
	if r == nil {
		return recent{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.events[cursor]
	return e, ok
}
