package bus

import (
	"context"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// Hooks are told what happens on the connection of a service and in the shell around its machine, for metrics and traces. Each may
// be nil: then nobody is told. They are called in the middle of the work, from any goroutine: they must be fast, and may
// not block. Nothing of the work depends on them.
type Hooks struct {
	// Trace gives an event that is about to be appended a traceparent of its own, whose parent is the one that it carries, and
	// notes so in its Origin. nil: an event carries on the traceparent of what led to it.
	Trace func(e *envelope.Event)
	// Appended is told of every attempt to store an event: nil, *Conflict, or why it failed. Its Cursor, and of its Origin Before, is
	// there with nil.
	Appended func(e envelope.Event, began time.Time, err error)
	// Rang is told of a bell (Bell.Event), and how often it was delivered.
	Rang func(e envelope.Event, deliveries int)
	// GivenUp is told that a bell became a dead letter.
	GivenUp func()
	// Refused is told that the server's permissions have refused something.
	Refused func()
	// Folded is told how many events were read for a fold.
	Folded func(events int)
	// Poisoned is told that a session was quarantined, as its machine panicked.
	Poisoned func()
	// Effect is told that the effect of a claim begins, and gives it a context. What it returns is called at the end, and says
	// which traceparent the outcome carries.
	Effect func(ctx context.Context, claim envelope.Event) (context.Context, func(outcome envelope.Body, err error) (trace string))
}

// OrSilent is h with something that does nothing in place of each nil but Trace.
func (h Hooks) OrSilent() Hooks {
	if h.Appended == nil {
		h.Appended = func(envelope.Event, time.Time, error) {}
	}
	if h.Rang == nil {
		h.Rang = func(envelope.Event, int) {}
	}
	if h.GivenUp == nil {
		h.GivenUp = func() {}
	}
	if h.Refused == nil {
		h.Refused = func() {}
	}
	if h.Folded == nil {
		h.Folded = func(int) {}
	}
	if h.Poisoned == nil {
		h.Poisoned = func() {}
	}
	if h.Effect == nil {
		h.Effect = func(ctx context.Context, claim envelope.Event) (context.Context, func(envelope.Body, error) string) {
			return ctx, func(envelope.Body, error) string { return claim.Trace }
		}
	}
	return h
}

// Hooks are those of the connection, silent ones in place of nil.
func (c *Conn) Hooks() Hooks { return c.hooks }

// trace gives e a traceparent of its own, when somebody wants that.
func (j *Journal) trace(e *envelope.Event) {
	if j.c.hooks.Trace != nil && e.Origin.Span == nil {
		j.c.hooks.Trace(e)
	}
}

// lookBack bounds what it may cost to find out what was before an event: no more than a trace hangs on it.
const lookBack = 100 * time.Millisecond

// stored tells of an event that is in the journal. What begins a trace of its own there is linked to what was before it.
func (j *Journal) stored(e envelope.Event, began time.Time) {
	if j.c.hooks.Trace != nil && e.Prev > 0 {
		if r, ok := j.c.recent.get(e.Prev); ok {
			if e.Origin.Before = r.event.Trace; r.subject != "" {
				e.Origin.Before = envelope.Header(r.header).Get(envelope.HeaderTrace)
			}
		} else if e.Origin.Root {
			ctx, cancel := context.WithTimeout(context.Background(), lookBack)
			defer cancel()
			if before, err := j.Get(ctx, e.Prev); err == nil {
				e.Origin.Before = before.Trace
			}
		}
	}
	j.c.hooks.Appended(e, began, nil)
}
