package client

import (
	"context"
	"sync"
)

// leash ends many contexts at once: those of all that hangs on a connection, wherever the SDK has taken them from.
type leash struct {
	mu    sync.Mutex
	ended error
	next  uint64
	held  map[uint64]context.CancelCauseFunc
	over  chan struct{}
}

func newLeash() *leash {
	return &leash{held: map[uint64]context.CancelCauseFunc{}, over: make(chan struct{})}
}

// tie gives a context that also ends with the leash. release has to be called.
func (l *leash) tie(ctx context.Context) (tied context.Context, release context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil {
		cancel(l.ended)
		return ctx, cancel
	}
	l.next++
	n := l.next
	l.held[n] = cancel
	return ctx, func(cause error) {
		l.mu.Lock()
		delete(l.held, n)
		l.mu.Unlock()
		cancel(cause)
	}
}

// end ends all that is tied, and all that will be.
func (l *leash) end(cause error) {
	l.mu.Lock()
	if l.ended != nil {
		l.mu.Unlock()
		return
	}
	l.ended = cause
	held := l.held
	l.held = map[uint64]context.CancelCauseFunc{}
	l.mu.Unlock()
	close(l.over)
	for _, cancel := range held {
		cancel(cause)
	}
}

func (l *leash) done() <-chan struct{} { return l.over }
