package actor

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAClockThatIsSetBackIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		var seen []time.Duration
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			watchClock(ctx, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }, func(by time.Duration) { seen = append(seen, by) })
		}()
		for _, to := range []time.Duration{0, time.Second, time.Hour, -time.Hour, -time.Hour - setBack, 0, -time.Minute} {
			synctest.Wait()
			ahead.Store(int64(to))
			time.Sleep(2 * extendEvery)
		}
		cancel()
		<-done
		if got := fmt.Sprint(seen); got != "[2h0m0s 1m0s]" {
			t.Errorf("noticed %s", got)
		}
	})
}
