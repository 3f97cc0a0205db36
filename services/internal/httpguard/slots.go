package httpguard

import (
	"sync"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

// Slots bound how many requests are open at a time, of all and of each caller. Nobody waits for a slot: who finds none is told
// so at once, because a queue of requests would be one more thing without a bound.
type Slots struct {
	total int
	each  int
	mu    sync.Mutex
	open  int            // guarded by mu
	by    map[string]int // guarded by mu; no entry is 0
}

// NewSlots makes slots for total requests, each of them for one caller; 0: no cap on callers.
func NewSlots(total, each int) *Slots {
	return &Slots{total: total, each: each, by: make(map[string]int)}
}

// Enter takes a slot for a caller, "" where that is not known, until leave is called. The error is fault.Busy.
func (s *Slots) Enter(caller string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.total {
		return nil, fault.New(fault.Busy, "%d requests are open: try again later", s.total)
	}
	if s.each > 0 && s.by[caller] >= s.each {
		return nil, fault.New(fault.Busy, "%d requests of this caller are open: try again later", s.each)
	}
	s.open++
	if s.each > 0 {
		s.by[caller]++
	}
	return sync.OnceFunc(func() { s.leave(caller) }), nil
}

func (s *Slots) leave(caller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.each == 0 {
		return
	}
	if s.by[caller]--; s.by[caller] == 0 {
		delete(s.by, caller)
	}
}
