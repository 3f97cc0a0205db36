package bus

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// clock is what the clock on the wall of the server shows, as far as a process knows: timers ring by that one, and what processes
// write down for each other (deadlines, waits, expiries) has to mean the same to all of them. Between two looks at it this
// machine's monotonic clock counts on, so that a step of its own clock on the wall changes nothing.
type clock struct {
	mu   sync.Mutex
	at   time.Time     // guarded by mu; when the server was last heard of, by this machine's monotonic clock; zero: never
	wall time.Time     // guarded by mu; by its clock on the wall
	by   time.Duration // guarded by mu; how much the server was ahead of this machine's wall then; 0 when it was no more than apart
}

const (
	// apart is how much two clocks may differ before the server's is taken: below it lie the ways to the server and back, and what
	// people are used to from clocks that are kept by NTP.
	apart = time.Second
	// clockLook is how often a process looks whether its clock on the wall was stepped or it was asleep, which costs nothing;
	// clockEvery how often it asks the server in any case.
	clockLook  = 5 * time.Second
	clockEvery = time.Minute
)

// now is this machine's time t on the server's clock.
func (k *clock) now(t time.Time) time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at.IsZero() {
		return t
	}
	return k.at.Add(t.Sub(k.at) + k.by) // the monotonic clock's difference
}

// heard notes what the server's clock has shown between two times of this machine.
func (k *clock) heard(server, asked, answered time.Time) {
	if server.IsZero() || answered.Sub(asked) > apart {
		return // nobody knows when that was
	}
	by := server.Sub(answered.Round(0))
	if by.Abs() <= apart {
		by = 0
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at, k.wall, k.by = answered, answered.Round(0), by
}

// unknown says that the server's time was never heard.
func (k *clock) unknown() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.at.IsZero()
}

// stale says that the server has to be asked again: the last answer is old, or the clock on the wall has not gone as the
// monotonic one since then.
func (k *clock) stale(t time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	since := t.Sub(k.at)
	stepped := t.Round(0).Sub(k.wall) - since
	return k.at.IsZero() || since >= clockEvery || stepped.Abs() > apart
}

// Now is the time by which events are dated and timers ring: the server's, once it is known (Doorbells sees to that), where it
// differs from this machine's. A nil Conn knows this machine's only.
func (c *Conn) Now() time.Time {
	if c == nil {
		return time.Now()
	}
	return c.clock.now(time.Now())
}

// firstClock asks the server for its time before any bell is taken: what is decided by a clock that is off stays so. A server that
// is away is waited for; one that does not answer the question is not.
func (c *Conn) firstClock(ctx context.Context) {
	for tries := 0; c.clock.unknown() && tries < clockTries && ctx.Err() == nil; {
		if err := c.askClock(ctx); err == nil && !c.clock.unknown() {
			return
		}
		if c.nc.IsConnected() {
			tries++
		}
		select {
		case <-ctx.Done():
		case <-time.After(reopenEvery / 2):
		}
	}
}

// clockTries is how often a server that can be reached is asked for its time at a start.
const clockTries = 3

// keepClock asks the server for its time when that is due, until ctx ends.
func (c *Conn) keepClock(ctx context.Context) {
	look := time.NewTicker(clockLook)
	defer look.Stop()
	for {
		if c.clock.stale(time.Now()) {
			if err := c.askClock(ctx); err != nil && ctx.Err() == nil {
				c.log.Debug("the server's clock is not known", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

func (c *Conn) askClock(ctx context.Context) error {
	var info struct {
		Time  time.Time           `json:"ts"`
		Error *jetstream.APIError `json:"error"`
	}
	ctx, cancel := context.WithTimeout(ctx, 2*apart)
	defer cancel()
	asked := time.Now()
	if err := c.api(ctx, "STREAM.INFO."+subject.Journal, struct{}{}, &info); err != nil {
		return err
	}
	if info.Error != nil {
		return fault.New(fault.Unavailable, "the journal's clock: %w", info.Error)
	}
	before, now := c.clock.now(asked), time.Now()
	c.clock.heard(info.Time, asked, now)
	if moved := c.clock.now(now).Sub(before.Add(now.Sub(asked))); moved.Abs() > apart {
		c.log.Warn("this machine's clock is not the server's; times are the server's",
			"server_ahead", info.Time.Sub(now.Round(0)).Round(time.Millisecond).String(), "moved", moved.Round(time.Millisecond).String())
	}
	return nil
}
