package bus

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestTheServersClock: a clock on the wall that is an hour off, or is stepped, changes nothing once the server was heard of.
func TestTheServersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		// wall is this machine's clock on the wall when it is off: the same monotonic clock, another time of day.
		for name, tc := range map[string]struct{ server, want time.Duration }{
			"the same":               {0, 0},
			"as by NTP":              {900 * time.Millisecond, 0},
			"an hour behind":         {time.Hour, time.Hour},
			"an hour ahead":          {-time.Hour, -time.Hour},
			"a little more than NTP": {-1100 * time.Millisecond, -1100 * time.Millisecond},
		} {
			var k clock
			asked := time.Now()
			if got := k.now(asked); !got.Equal(asked) || !k.stale(asked) {
				t.Errorf("%s: before the server was heard of: %v, stale %v", name, got.Sub(asked), k.stale(asked))
			}
			time.Sleep(time.Millisecond)
			answered := time.Now()
			k.heard(answered.Round(0).Add(tc.server), asked, answered)
			time.Sleep(10 * time.Second)
			if got := time.Until(k.now(time.Now())); got != tc.want || k.stale(time.Now()) {
				t.Errorf("%s: it is %v apart, want %v; stale %v", name, got, tc.want, k.stale(time.Now()))
			}
			time.Sleep(clockEvery)
			if !k.stale(time.Now()) {
				t.Errorf("%s: an old answer is good for ever", name)
			}
		}
		var k clock
		k.heard(time.Now().Add(time.Hour), begun, time.Now()) // an answer that took minutes says nothing
		if got := k.now(time.Now()); !got.Equal(time.Now()) {
			t.Errorf("an answer that was late counts: %v", got)
		}
		k.heard(time.Time{}, time.Now(), time.Now()) // an older server
		if !k.stale(time.Now()) {
			t.Error("a server that says no time was heard of")
		}
	})
}

// TestASteppedClockIsNoticed: the clock on the wall has gone otherwise than the monotonic one.
func TestASteppedClockIsNoticed(t *testing.T) {
	now := time.Now()
	for _, step := range []time.Duration{time.Hour, -time.Hour, 2 * time.Second, -2 * time.Second} {
		k := clock{at: now, wall: now.Round(0).Add(-step)}
		if !k.stale(now) {
			t.Errorf("a step of %v is not noticed", step)
		}
	}
}
