package telegram

import (
	"context"
	"sync"
	"time"
)

// CallTime is what is left of a caller's time for the call itself: nobody waits for room beyond it.
const CallTime = 10 * time.Second

// gate is a limiter with a lock and a clock: calls of one bot go through it.
type gate struct {
	mu    sync.Mutex
	lim   *limiter
	timer *time.Timer // for the next look at the queue; nil until it is needed
	board *board      // where the processes of the bot tell each other what they call; nil: there is one
}

// newGate makes one for a process that is alone.
func newGate(l Limits) *gate { return &gate{lim: newLimiter(l)} }

// soon is so little that it is waited for at the gate.
const soon = 50 * time.Millisecond

// room says when it will be the turn of a call that is not asked for yet: its place is kept. The zero time when that is now.
func (g *gate) room(key string, chat int64) time.Time {
	g.look()
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	t := g.lim.join(key, chat, false, now)
	g.lim.leave(t, now)
	if t.slot.Before(now.Add(soon)) {
		return time.Time{}
	}
	return t.slot
}

// full says that there is no room in time: come back after so long.
type full struct {
	after time.Duration
	held  bool // by a 429, not by our own limits
}

// enter waits until a call may begin; leave has to follow it. It returns full when that would be too late for ctx.
func (g *gate) enter(ctx context.Context, key string, chat int64, edit bool) (*ticket, *full) {
	g.mu.Lock()
	now := time.Now()
	t := g.lim.join(key, chat, edit, now)
	g.advance(now)
	if t.called() {
		g.mu.Unlock()
		return t, nil
	}
	var tooLate <-chan time.Time
	if deadline, ok := ctx.Deadline(); ok && !g.lim.isBegun(t) {
		latest := deadline.Add(-CallTime)
		if t.slot.After(latest) {
			defer g.mu.Unlock()
			return nil, g.giveUp(t, now)
		}
		timer := time.NewTimer(latest.Sub(now))
		defer timer.Stop()
		tooLate = timer.C
	}
	g.mu.Unlock()
	select {
	case <-t.ready:
		return t, nil
	case <-tooLate:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if ctx.Err() == nil {
		g.advance(time.Now()) // its turn may be right now
		if g.lim.isBegun(t) {
			g.mu.Unlock()
			select {
			case <-t.ready:
			case <-ctx.Done():
			}
			g.mu.Lock()
		}
	}
	if t.called() {
		return t, nil
	}
	return nil, g.giveUp(t, time.Now())
}

func (t *ticket) called() bool {
	select {
	case <-t.ready:
		return true
	default:
		return false
	}
}

// giveUp leaves the queue. The caller holds mu.
func (g *gate) giveUp(t *ticket, now time.Time) *full {
	g.lim.leave(t, now)
	g.advance(now)
	return &full{after: max(t.slot.Sub(now), time.Millisecond), held: t.chat.holds().After(now)}
}

// trySpare begins a call if there is room to spare right now; leave has to follow it.
func (g *gate) trySpare(ctx context.Context, chat int64, edit bool) (*ticket, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t, ok := g.lim.trySpare(chat, edit, time.Now())
	if !ok {
		return nil, false
	}
	g.tell()
	g.mu.Unlock()
	select {
	case <-t.ready:
	case <-ctx.Done():
	}
	g.mu.Lock()
	if !t.called() {
		g.lim.leave(t, time.Now())
		g.tell()
		return nil, false
	}
	return t, !t.never
}

// leave ends a call.
func (g *gate) leave(t *ticket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.lim.done(t, now)
	g.advance(now)
}

// hold keeps everybody from a chat for a while. It says whether that is news.
func (g *gate) hold(chat int64, d time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	defer g.tell()
	return g.lim.hold(chat, now.Add(d), now)
}

// held is how long a chat is still held; 0 when it is not.
func (g *gate) held(chat int64) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(time.Until(g.lim.heldUntil(chat)), 0)
}

// advance begins what may begin and sets the timer for what may not yet. The caller holds mu.
func (g *gate) advance(now time.Time) {
	defer g.tell()
	next := g.lim.advance(now)
	switch {
	case next.IsZero():
		if g.timer != nil {
			g.timer.Stop()
		}
	case g.timer == nil:
		g.timer = time.AfterFunc(next.Sub(now), g.tick)
	default:
		g.timer.Reset(next.Sub(now))
	}
}

func (g *gate) tick() {
	g.look() // what flew elsewhere may be over
	g.mu.Lock()
	defer g.mu.Unlock()
	g.advance(time.Now())
}
