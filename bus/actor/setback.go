package actor

import (
	"context"
	"time"
)

// setBack is by how much a clock has to be set back to be noticed.
const setBack = 2 * time.Second

// watchClock calls look after each time that the clock on the wall was set back, until ctx ends. The server counts what is not
// acked by that clock, and where it has the same one it holds back for as long what it would have delivered again a moment later:
// what a dead worker held, and what was put off.
func watchClock(ctx context.Context, now func() time.Time, look func(by time.Duration)) {
	tick := time.NewTicker(extendEvery)
	defer tick.Stop()
	last, begun := now().Round(0), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		wall, at := now().Round(0), time.Now()
		if by := at.Sub(begun) - wall.Sub(last); by > setBack {
			look(by)
		}
		last, begun = wall, at
	}
}
