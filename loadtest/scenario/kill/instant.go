package kill

import (
	"context"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
)

// live lets the daemon live for a random time from when enough turns are in flight, and then until enough are again; now
// and then just for a random time from when it was ready, so that no instant is spared.
func (k *run) live(ctx context.Context) bool {
	life := time.Duration(k.rnd.Float64() * float64(k.o.maxUp))
	if k.rnd.Float64() < anywhereShare {
		return pace.Wait(ctx, life)
	}
	return k.busy(ctx) && pace.Wait(ctx, life) && k.busy(ctx) && k.aimed(ctx)
}

// aimed waits now and then for what is over too soon to be met by chance: somebody sends a stop, or the model has asked for
// a tool.
func (k *run) aimed(ctx context.Context) bool {
	switch at := k.rnd.Float64(); {
	case len(k.crowd.Roles()) > 1 && at < stopKills:
		return k.soonAfter(ctx, k.crowd.Stops, stopSpan)
	case k.calls != nil && at < stopKills+callKills:
		return k.soonAfter(ctx, k.calls, callSpan)
	}
	return true
}

// soonAfter waits for news, at most stopWait, and then for a random part of span; false when ctx has ended.
func (k *run) soonAfter(ctx context.Context, news <-chan struct{}, span time.Duration) bool {
	select {
	case <-news:
	default: // an old one, if any
	}
	t := time.NewTimer(stopWait)
	defer t.Stop()
	select {
	case <-news:
		return pace.Wait(ctx, time.Duration(k.rnd.Float64()*float64(span)))
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// busy waits, within limits, until enough turns are in flight; false when ctx has ended.
func (k *run) busy(ctx context.Context) bool {
	for patience := time.Now().Add(flightPatience); k.model.Open() < inFlight && time.Now().Before(patience); {
		if !pace.Wait(ctx, flightPoll) {
			return false
		}
	}
	return true
}
