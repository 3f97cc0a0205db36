package machine

import (
	"testing"
	"time"
)

func TestDue(t *testing.T) {
	since := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	until := since.Add(10 * time.Second)
	for now, want := range map[time.Duration]bool{
		-time.Hour: true, -time.Minute: false, -time.Second: false, 0: false, 9 * time.Second: false,
		10 * time.Second: true, time.Hour: true,
	} {
		if got := Due(since.Add(now), since, until); got != want {
			t.Errorf("%v after it was set: due %v", now, got)
		}
	}
}
