package approvals

import (
	"context"
	"sync"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// queues lets those that decide in one session go one after the other. It is a courtesy: the compare-and-set decides.
// Unordered, unbounded (the endpoint bounds its requests), blocking.
type queues struct {
	mu  sync.Mutex
	all map[session.ID]*queue // guarded by mu; those that somebody is in
}

type queue struct {
	in   int           // guarded by queues.mu; who holds or wants the turn
	turn chan struct{} // of size 1, full while somebody has the turn
}

func newQueues() *queues { return &queues{all: make(map[session.ID]*queue)} }

// enter waits for the turn in a session, or for ctx's end. Who enters has to leave.
func (q *queues) enter(ctx context.Context, id session.ID) (leave func(), err error) {
	q.mu.Lock()
	one := q.all[id]
	if one == nil {
		one = &queue{turn: make(chan struct{}, 1)}
		q.all[id] = one
	}
	one.in++
	q.mu.Unlock()
	select {
	case one.turn <- struct{}{}:
		return func() { <-one.turn; q.out(id, one) }, nil
	case <-ctx.Done():
		q.out(id, one)
		return nil, fault.New(fault.Busy, "%s is busy with other answers; try again", id)
	}
}

func (q *queues) out(id session.ID, one *queue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if one.in--; one.in == 0 {
		delete(q.all, id)
	}
}
