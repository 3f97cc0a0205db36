package bus

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestALeaseThatIsNotRenewedRunsOut: by the clock of who looks, from the first look at it.
func TestALeaseThatIsNotRenewedRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen sighted
		look := func(revision uint64, want bool) {
			t.Helper()
			if got := seen.stale(revision); got != want {
				t.Errorf("revision %d: stale %t", revision, got)
			}
		}
		look(1, false)
		time.Sleep(leaseTTL)
		look(1, false)
		look(2, false) // it was renewed
		time.Sleep(leaseTTL + 1)
		look(2, true)
	})
}
