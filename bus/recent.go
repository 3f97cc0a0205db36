package bus

import (
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus/lru"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// Recent remembers the newest events that pass through a process, for all its connections: a session's last steps are
// appended by one service and folded by the next, and a read costs more than all else in it. What is stored under a
// cursor never changes, so a hit is as good as a read; a walk never goes below a tombstone, so what was purged is not
// asked for. Bounded; safe for concurrent use. A nil Recent remembers nothing.
type Recent struct {
	mu     sync.Mutex
	events *lru.Cache[uint64, recent] // guarded by mu; by cursor
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
	recentBytes  = 4 << 20
	recentBody   = 2 << 10 // a larger body is not worth its memory
	decodedFrame = 600     // what an event takes beside its body
	storedFrame  = 1500    // what a message takes beside its body
)

// NewRecent makes an empty memory.
func NewRecent() *Recent {
	return &Recent{events: lru.New[uint64, recent](lru.Limits{Entries: recentEvents, Bytes: recentBytes})}
}

func (r *Recent) put(cursor uint64, e recent) {
	if r == nil || cursor == 0 || len(e.data) > recentBody {
		return
	}
	bytes := e.bytes()
	if e.subject == "" {
		e.data = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.events.Peek(cursor); ok && old.subject == "" {
		return // decoded is better than stored
	}
	r.events.Put(cursor, e, bytes)
}

// bytes is about what it takes in memory, before its data is let go. Most of a message as stored is the map of its headers.
func (e recent) bytes() int {
	if e.subject == "" {
		return decodedFrame + len(e.data)
	}
	return storedFrame + len(e.data)
}

func (r *Recent) get(cursor uint64) (recent, bool) {
	if r == nil {
		return recent{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events.Peek(cursor) // the newest are read, whoever has read them before
}
