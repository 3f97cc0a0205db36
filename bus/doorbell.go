package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// AckWait is how long the server waits for an ack, a nak or a sign of progress before it delivers a doorbell again.
const AckWait = 5 * time.Second

// Bell is one delivery of a doorbell: it says that a session has news. Nothing of the work hangs on who gets it.
type Bell interface {
	// Event is what rang. Of a timer it has the Session only, Cursor 0, and the Time at which it was meant to ring, if that is known:
	// it is time to look.
	Event() envelope.Event
	// Deliveries counts from 1. It also counts naks, so it says nothing about failures.
	Deliveries() int
	Ack() error
	Nak(delay time.Duration) error
	InProgress() error
	// Quarantine gives the bell up: the server tells so on an advisory, which the stream DEAD keeps with the reason.
	Quarantine(reason string) error
}

// Options of the pull consumers. A short expiry: with the default of 30 s a lost wake-up stalls for these 30 s.
const (
	pullExpiry = 2 * time.Second
	pullBatch  = 1000
)

// Doorbells delivers the bells of the connection's service to ring, events one after the other and timers beside them, until
// ctx ends; then it rings for what the server had sent already, and returns once the last call of ring has returned. ring
// must not block. Order: none that may be relied on. Bounded by the consumer's MaxAckPending; nothing is lost: what is not acked comes again.
func (c *Conn) Doorbells(ctx context.Context, spec Spec, ring func(Bell)) error {
	door := &door{ring: ring}
	defer door.shut()
	ring = door.pass
	var all []*consumption
	if len(spec.Doorbells) > 0 {
		handle := func(m jetstream.Msg) { c.ringEvent(ctx, spec, m, ring) }
		all = append(all, &consumption{c: c, stream: subject.Journal, durable: spec.Name, handle: handle})
	}
	if spec.RungInTime() {
		handle := func(m jetstream.Msg) { c.ringTimer(spec, m, ring) }
		all = append(all, &consumption{c: c, stream: subject.Timers, durable: TimerConsumer(spec.Name), handle: handle})
	}
	c.firstClock(ctx)
	c.depends.Store(true)
	var open []jetstream.ConsumeContext
	for _, k := range all {
		cc, err := k.first(ctx)
		if err != nil {
			c.drain(open)
			return orDone(ctx, err)
		}
		open = append(open, cc)
	}
	var wg sync.WaitGroup
	for i, k := range all {
		wg.Go(func() { k.keep(ctx, open[i]) })
	}
	wg.Go(func() { c.keepClock(ctx) })
	wg.Wait()
	return nil
}

// consumption is one consumer that is read.
type consumption struct {
	c               *Conn
	stream, durable string
	handle          func(jetstream.Msg)
}

// first opens the consumer at a start. A server that is away is waited for; a consumer that is not there is an error.
func (k *consumption) first(ctx context.Context) (jetstream.ConsumeContext, error) {
	for {
		cc, err := k.open(ctx)
		if err == nil || errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
			return cc, err
		}
		k.c.log.Warn("no doorbells yet", "consumer", k.durable, "error", err)
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(reopenEvery):
		}
	}
}

func (k *consumption) open(ctx context.Context) (jetstream.ConsumeContext, error) {
	cons, _, err := again(ctx, k.c, apiRoot+"CONSUMER.INFO."+k.stream+"."+k.durable, func(ctx context.Context) (jetstream.Consumer, error) {
		return k.c.js.Consumer(ctx, k.stream, k.durable)
	})
	if err != nil {
		return nil, fault.New(fault.Unavailable, "consumer %s of %s: %w", k.durable, k.stream, err)
	}
	cc, err := cons.Consume(k.handle, jetstream.PullMaxMessages(pullBatch), jetstream.PullExpiry(pullExpiry),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
			if ctx.Err() == nil {
				k.c.noteLeader(subject.Journal, err)
				k.c.trouble.sign("no doorbells come", time.Now())
				k.c.log.Debug("doorbells", "consumer", k.durable, "error", err)
			}
		}))
	if err != nil {
		return nil, fault.New(fault.Unavailable, "consume %s of %s: %w", k.durable, k.stream, err)
	}
	return cc, nil
}

// keep reads until ctx ends. A consumer that was deleted ends its readers for good: it is looked for again, as a service
// that nothing rings any more would look healthy.
func (k *consumption) keep(ctx context.Context, cc jetstream.ConsumeContext) {
	for {
		select {
		case <-ctx.Done():
			k.c.drain([]jetstream.ConsumeContext{cc})
			return
		case <-cc.Closed():
		}
		k.c.trouble.lose()
		for cc = nil; cc == nil; {
			select {
			case <-ctx.Done():
				k.c.trouble.find()
				return
			case <-time.After(reopenEvery):
			}
			var err error
			if cc, err = k.open(ctx); err != nil && ctx.Err() == nil {
				k.c.log.Error("no doorbells: their consumer is gone; `jetclaw topology apply`, or a start of the embedded server, makes it",
					"consumer", k.durable, "stream", k.stream, "error", err)
			}
		}
		k.c.trouble.find()
		k.c.log.Warn("doorbells: the consumer was gone and is back", "consumer", k.durable)
	}
}

const reopenEvery = time.Second

// drain lets the handlers see what has arrived. Dropped, it would be hidden from other workers until AckWait is over. A bus
// that is lost meanwhile is not waited for: nats.go would ask it for ten seconds whether there is more.
func (c *Conn) drain(open []jetstream.ConsumeContext) {
	for _, cc := range open {
		cc.Drain()
	}
	tick := time.NewTicker(drainLook)
	defer tick.Stop()
	for _, cc := range open {
		ended := cc.Closed() // once: asked again it would not wait for the last handler
		for closed := false; !closed && c.nc.IsConnected(); {
			select {
			case <-ended:
				closed = true
			case <-tick.C:
			}
		}
	}
}

const drainLook = 50 * time.Millisecond

// door stands between the consumers and ring: nothing passes once it is shut.
type door struct {
	ring func(Bell)

	mu   sync.RWMutex
	gone bool // guarded by mu
}

func (d *door) pass(b Bell) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if !d.gone {
		d.ring(b)
	}
}

// shut returns once the last call of ring has returned.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone = true
}

// TimerConsumer is the durable name of a service's consumer of timers.
func TimerConsumer(service string) string { return "timers-" + service }

func (c *Conn) ringEvent(ctx context.Context, spec Spec, m jetstream.Msg, ring func(Bell)) {
	meta, err := m.Metadata()
	if err != nil {
		c.log.Error("a doorbell without metadata", "subject", m.Subject(), "error", err)
		return
	}
	ev, err := c.news(ctx, m.Subject(), m.Headers(), m.Data(), meta.Sequence.Stream)
	b := &bell{msg: m, event: ev, deliveries: int(meta.NumDelivered), givenUp: c.hooks.GivenUp}
	switch {
	case errors.Is(err, envelope.ErrEnvelope):
		c.quarantine(b, fmt.Sprintf("cursor %d: %v", meta.Sequence.Stream, err))
	case err != nil: // the object store could not be reached
		c.settle(b, "nak", b.Nak(time.Second))
	case !ringsFor(spec.Doorbells, m.Subject()): // a consumer that somebody re-filtered
		c.quarantine(b, fmt.Sprintf("cursor %d: %q does not ring %s", ev.Cursor, m.Subject(), spec.Name))
	default:
		ring(b)
	}
}

func (c *Conn) ringTimer(spec Spec, m jetstream.Msg, ring func(Bell)) {
	service, s, err := subject.ParseTimer(m.Subject())
	b := &bell{msg: m, event: envelope.Event{Session: s}, deliveries: 1, givenUp: c.hooks.GivenUp}
	if at, err := time.Parse(time.RFC3339Nano, m.Headers().Get(headerDue)); err == nil {
		b.event.Time = at
	}
	if meta, merr := m.Metadata(); merr == nil {
		b.deliveries = int(meta.NumDelivered)
	}
	if err != nil || service != spec.Name {
		c.quarantine(b, fmt.Sprintf("timer %q does not ring %s: %v", m.Subject(), spec.Name, err))
		return
	}
	ring(b)
}

func (c *Conn) quarantine(b *bell, reason string) {
	c.log.Error("doorbell quarantined", "session", b.event.Session, "reason", reason)
	c.settle(b, "term", b.Quarantine(reason))
}

func (c *Conn) settle(b *bell, how string, err error) {
	if err != nil {
		c.log.Warn("doorbell not settled; it will come again", "how", how, "session", b.event.Session, "error", err)
	}
}

// ringsFor says whether subj is of one of the doorbells; a kind may end in ".*".
func ringsFor(bells []string, subj string) bool {
	var channel string // its token, as it is written
	rest := subj
	for n := range 6 { // ev.<vp>.<four tokens of the session>.
		token, after, ok := strings.Cut(rest, ".")
		if !ok {
			return false
		}
		if n == 3 {
			channel = token
		}
		rest = after
	}
	for _, bell := range bells {
		k, only, one := strings.Cut(bell, "@")
		if one && session.Escape(only) != channel {
			continue
		}
		if root, open := strings.CutSuffix(k, "*"); k == rest || open && strings.HasPrefix(rest, root) {
			return true
		}
	}
	return false
}

type bell struct {
	msg        jetstream.Msg
	event      envelope.Event
	deliveries int
	givenUp    func()
}

func (b *bell) Event() envelope.Event         { return b.event }
func (b *bell) Deliveries() int               { return b.deliveries }
func (b *bell) Ack() error                    { return b.msg.Ack() }
func (b *bell) Nak(delay time.Duration) error { return b.msg.NakWithDelay(delay) }
func (b *bell) InProgress() error             { return b.msg.InProgress() }

func (b *bell) Quarantine(reason string) error {
	b.givenUp()
	if b.event.Cursor == 0 && b.event.Session != "" {
		reason = reasonOfTimer(b.event.Session, reason)
	}
	return b.msg.TermWithReason(reason)
}
