package app

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// idle is the module that gives memory back to the system when the daemon has had nothing to do for a while. The
// garbage collector alone would keep what a busy minute needed: block buffers of the server, pools, its own headroom.
type idle struct{}

const (
	idleTick  = 5 * time.Second
	idleCalm  = 1 << 20  // allocated bytes in a tick: heartbeats and health checks stay below
	idleWorth = 16 << 20 // allocated bytes since the last time: below, there is nothing to give back
	idleAgain = 3        // calm ticks until the second time: the server lets go of its caches 11 s after their last use
)

// Run watches until ctx ends.
func (idle) Run(ctx context.Context) error {
	tick := time.NewTicker(idleTick)
	defer tick.Stop()
	before, given, calm := allocated(), uint64(0), 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := allocated()
		if now-before >= idleCalm {
			calm = 0
		} else if calm++; calm == 1 && now-given > idleWorth || calm == idleAgain {
			debug.FreeOSMemory()
			debug.FreeOSMemory() // pools let go at the second collection
			given = now
		}
		before = now
	}
}

// Ready returns at once.
func (idle) Ready(context.Context) error { return nil }

func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
