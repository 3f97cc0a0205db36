// Package pace waits, tells, and does many things a few at a time; waiting and doing end with their context.
package pace

import (
	"context"
	"sync"
	"time"
)

// Wait is false when ctx ended first.
func Wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Crews does n things, some at the same time; the first that goes wrong ends it.
func Crews(ctx context.Context, n, parallel int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range parallel {
		wg.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// Tell gives news to whoever waits for some; lossy: nobody waits for who waits.
func Tell(news chan<- struct{}) {
	select {
	case news <- struct{}{}:
	default:
	}
}

// RetryMin is how long whoever was refused for now waits at the least before he asks again.
const RetryMin = 10 * time.Millisecond
