package actor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/machine"
)

// longestNak bounds how long a bell is put off by a nak: many nak'ed bells cost the server, and past MaxAckPending
// nothing new is delivered. A longer wait is a timer.
const longestNak = time.Minute

// quiescent acks all bells in hand: the fold that includes their events has no step.
func (l *lane[S]) quiescent() {
	for _, b := range l.held {
		if u, ok := b.Event().Body.(envelope.Unknown); ok {
			l.log.Error("an event that this version cannot decode", "session", l.session, "cursor", b.Event().Cursor,
				"type", u.Type, "error", u.Err)
			l.a.settled(l.session, b.Quarantine("cannot decode "+u.Type+": "+u.Err.Error()))
			continue
		}
		l.a.settled(l.session, b.Ack())
	}
	l.a.succeeded(l.laneID)
	if l.at.loose >= l.a.o.SnapshotEvery {
		if l.a.saver.offer(l.session, l.at) {
			l.at.loose = 0
		}
	}
}

// nakAll puts the bells in hand off.
func (l *lane[S]) nakAll(d time.Duration) {
	for _, b := range l.held {
		l.a.settled(l.session, b.Nak(min(d, longestNak)))
	}
}

// wait puts the bells off until a time, or hands the waiting to a timer. A session has one timer, which rings part "":
// the other parts wait in steps.
func (l *lane[S]) wait(ctx context.Context, step machine.Wait) {
	d := l.a.p.Seams.until(step.Until)
	if d <= longestNak || l.a.p.Timers == nil || l.part != "" || l.early() {
		l.nakAll(max(d, 10*time.Millisecond))
		return
	}
	if err := l.a.p.Timers.SetTimer(ctx, l.session, step.Until); err != nil {
		l.trouble(ctx, err)
		return
	}
	// A session has one timer: this one has replaced another worker's, and if the fold was old, a timer that would have
	// rung sooner. Who sets the last one has to have seen all that was there.
	seen := l.at.cursor
	switch err := l.reload(ctx); {
	case err != nil:
		l.trouble(ctx, err)
	case l.at.cursor != seen:
		l.nakAll(0)
	default:
		l.quiescent()
	}
}

// early says whether a timer in hand has rung before its time: the server's clock is ahead of this one. Another timer for that time
// would ring at once, again and again.
func (l *lane[S]) early() bool {
	return slices.ContainsFunc(l.held, func(b bus.Bell) bool {
		ev := b.Event()
		return ev.Cursor == 0 && l.a.p.Seams.until(ev.Time) > 0
	})
}

// trouble puts the bells off after an error, or gives them up when the session itself is at fault.
func (l *lane[S]) trouble(ctx context.Context, err error) {
	var p panicked
	switch {
	case ctx.Err() != nil: // shut down in the middle
		l.nakAll(0)
		return
	case errors.As(err, &p):
		l.a.quarantine(l.session, p.Error())
		l.giveUp(p.Error())
		return
	}
	n := 0
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Timeout, fault.Full, fault.Busy, fault.Conflict:
	default:
		if n = l.a.failed(l.laneID); n >= maxFailures {
			l.log.Error("bells given up after repeated failures", "session", l.session, "failures", n, "error", err)
			l.giveUp(err.Error())
			l.a.succeeded(l.laneID)
			return
		}
	}
	l.log.Warn("session put off", "session", l.session, "error", err)
	l.nakAll(l.retryDelay(max(n, l.deliveries())))
}

func (l *lane[S]) giveUp(why string) {
	for _, b := range l.held {
		l.a.settled(l.session, b.Quarantine(why))
	}
}

func (l *lane[S]) deliveries() int {
	n := 0
	for _, b := range l.held {
		n = max(n, b.Deliveries())
	}
	return n
}

// retryDelay is the n-th delay of a backoff from 50 ms to 5 s with ±30 % jitter.
func (l *lane[S]) retryDelay(n int) time.Duration {
	return delay(50*time.Millisecond, 5*time.Second, n, l.a.p.Seams.rand())
}

// heldDelay is how long a bell is put off when another works on its session: 1 s growing to 5 s, ±30 %.
func (l *lane[S]) heldDelay(deliveries int) time.Duration {
	return delay(time.Second, 5*time.Second, deliveries-1, l.a.p.Seams.rand())
}

// delay is the n-th delay of a backoff; chance, in [0, 1), is its jitter.
func delay(first, last time.Duration, n int, chance float64) time.Duration {
	b := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(first), backoff.WithMaxInterval(last), backoff.WithMultiplier(2),
		backoff.WithRandomizationFactor(0), backoff.WithMaxElapsedTime(0))
	d := b.NextBackOff()
	for range min(max(n, 0), 16) {
		d = b.NextBackOff()
	}
	return time.Duration(float64(d) * (0.7 + 0.6*chance))
}
