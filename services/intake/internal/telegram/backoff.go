package telegram

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff is how long to wait before the next try: twice as long each time, and a little by chance, so that many who failed
// together do not come back together.
type backoff struct {
	first, most time.Duration
	next        time.Duration
}

func (b *backoff) step() time.Duration {
	d := max(b.next, b.first)
	b.next = min(2*d, b.most)
	return min(d+rand.N(d/4+1), max(b.most, b.first))
}

func (b *backoff) reset() { b.next = 0 }

// pause waits; false when ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
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
