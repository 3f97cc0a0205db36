package actor

import (
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// echoes is how often a bell that a start rings may be put off before the real one goes on alone.
const echoes = 8

// echo is a bell that a start rings for a session whose real bell is perhaps still out with a dead worker, so that
// recovery does not wait for AckWait. It counts as a redelivery; settling it settles nothing on the server.
type echo struct {
	event envelope.Event
	again func(b bus.Bell, after time.Duration)
	left  atomic.Int32
}

// NewEcho makes a bell of an event that has none of its own now: again rings it once more when it was put off.
func NewEcho(ev envelope.Event, again func(bus.Bell, time.Duration)) bus.Bell {
	e := &echo{event: ev, again: again}
	e.left.Store(echoes)
	return e
}

func (e *echo) Event() envelope.Event   { return e.event }
func (e *echo) Deliveries() int         { return 2 }
func (e *echo) Ack() error              { return nil }
func (e *echo) InProgress() error       { return nil }
func (e *echo) Quarantine(string) error { return nil }

// Nak rings again after the delay.
func (e *echo) Nak(d time.Duration) error {
	if e.left.Add(-1) >= 0 {
		e.again(e, d)
	}
	return nil
}
