// Package window says when a measurement counts. A closed loop that has just begun is a burst: its first exchanges queue
// behind each other and say nothing. So the window opens when the warm-up is over and every sender has had an answer,
// and it shuts when its time is over and every sender has had another, or when it has lasted too long.
package window

import (
	"context"
	"sync"
	"time"
)

// limit bounds what a slow system may add to the warm-up, and to the window.
const limit = time.Minute

// Window is shared by the senders of one measurement, which tell it of every exchange that has ended.
type Window struct {
	warmup, duration time.Duration

	mu     sync.Mutex
	phase  int           // guarded by mu; 0 warm-up, 1 open, 2 shut
	late   map[int]bool  // guarded by mu; senders that have ended nothing in this phase
	all    chan struct{} // guarded by mu; closed when late becomes empty
	opened time.Time     // guarded by mu
	closed time.Time     // guarded by mu
}

// New makes a window for senders 0 to n-1.
func New(n int, warmup, duration time.Duration) *Window {
	w := &Window{warmup: warmup, duration: duration}
	w.expect(n)
	return w
}

func (w *Window) expect(n int) {
	w.late, w.all = make(map[int]bool, n), make(chan struct{})
	for i := range n {
		w.late[i] = true
	}
}

// Ended says that sender i has had an answer.
func (w *Window) Ended(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.late[i] {
		return
	}
	if delete(w.late, i); len(w.late) == 0 {
		close(w.all)
	}
}

// Shut tells whether no further exchange is to begin.
func (w *Window) Shut() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.phase == 2
}

// Run opens and shuts the window and calls atOpen and atShut then; it returns when it is shut, or ctx has ended.
func (w *Window) Run(ctx context.Context, n int, atOpen, atShut func()) {
	w.pass(ctx, w.warmup)
	w.mu.Lock()
	w.phase, w.opened = 1, time.Now()
	w.expect(n)
	w.mu.Unlock()
	if ctx.Err() == nil {
		atOpen()
	}
	w.pass(ctx, w.duration)
	w.mu.Lock()
	w.phase, w.closed = 2, time.Now()
	w.mu.Unlock()
	if ctx.Err() == nil {
		atShut()
	}
}

// pass waits for d, and then for the late ones.
func (w *Window) pass(ctx context.Context, d time.Duration) {
	w.mu.Lock()
	all := w.all
	w.mu.Unlock()
	for _, t := range []struct {
		d    time.Duration
		done <-chan struct{}
	}{{d, nil}, {limit, all}} {
		timer := time.NewTimer(t.d)
		select {
		case <-timer.C:
		case <-t.done:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// Holds tells whether an exchange that began at t counts as one of the window. Ask after Run.
func (w *Window) Holds(t time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !t.Before(w.opened) && t.Before(w.closed)
}

// Elapsed is how long the window was open. Ask after Run.
func (w *Window) Elapsed() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed.Sub(w.opened)
}
