package window_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/figure/window"
)

// run gives sender 0 an answer every second and sender 1 every period, and returns when the window opened and shut.
func run(t *testing.T, period time.Duration) (opened, shut time.Duration) {
	t.Helper()
	began := time.Now()
	w := window.New(2, 2*time.Second, 3*time.Second)
	done := make(chan struct{})
	for i, p := range []time.Duration{time.Second, period} {
		go func() {
			tick := time.NewTicker(p)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					w.Ended(i)
				case <-done:
					return
				}
			}
		}()
	}
	w.Run(t.Context(), 2, func() { opened = time.Since(began) }, func() { shut = time.Since(began) })
	close(done)
	if !w.Shut() || w.Elapsed() != shut-opened || !w.Holds(began.Add(opened)) || w.Holds(began.Add(shut)) || w.Holds(began) {
		t.Errorf("opened %s, shut %s, elapsed %s", opened, shut, w.Elapsed())
	}
	return opened, shut
}

func TestWindowWaitsForTheSlowest(t *testing.T) {
	for _, c := range []struct{ period, opened, shut time.Duration }{
		{time.Second, 2 * time.Second, 5 * time.Second},
		{7 * time.Second, 7 * time.Second, 14 * time.Second},
		{time.Hour, 62 * time.Second, 125 * time.Second}, // given up
	} {
		synctest.Test(t, func(t *testing.T) {
			if opened, shut := run(t, c.period); opened != c.opened || shut != c.shut {
				t.Errorf("period %s: opened %s, shut %s; want %s, %s", c.period, opened, shut, c.opened, c.shut)
			}
		})
	}
}
