package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// ReplayOptions choose a part of the journal. The zero value is all of it.
type ReplayOptions struct {
	From    uint64     // first cursor; 0 or 1 is the beginning
	To      uint64     // last cursor; 0 is the end at the time of the call
	Since   time.Time  // begin at the first event stored at or after it; From is then ignored
	Session session.ID // only this session. A filtered read scans: for a person, not for a lane
	Kinds   string     // only events of these kinds, as "approval.*", of all sessions; see subject.OfKind. Not together with Session
}

// filter is the subject of what is chosen; "" is everything.
func (o ReplayOptions) filter() string {
	switch {
	case o.Session != "":
		return subject.OfSession(o.Session)
	case o.Kinds != "":
		return subject.OfKind(o.Kinds)
	}
	return ""
}

const replayBatch = 512

// Replay calls fn for the events of a part of the journal, in order, and returns at its end or with fn's first error.
// Messages that are no events (a broken envelope) are passed by with a warning.
func (c *Conn) Replay(ctx context.Context, o ReplayOptions, fn func(envelope.Event) error) error {
	_, err := c.replay(ctx, o, fn)
	return err
}

// replay returns the last cursor that was looked at, without one whose fn has failed.
func (c *Conn) replay(ctx context.Context, o ReplayOptions, fn func(envelope.Event) error) (uint64, error) {
	return c.scan(ctx, o, func(m Raw) error { return c.each(ctx, m.Subject, m.Header, m.Data, m.Cursor, fn) })
}

func (c *Conn) each(ctx context.Context, subj string, h nats.Header, data []byte, cursor uint64, fn func(envelope.Event) error) error {
	ev, err := c.decode(ctx, subj, h, data, cursor)
	if errors.Is(err, envelope.ErrEnvelope) {
		c.log.Warn("not an event", "cursor", cursor, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	return fn(ev)
}

const (
	followBuffer = 4096
	followTick   = 2 * time.Second
)

// Follow is Replay, then what comes, in order and without a gap, until ctx ends (then it returns nil) or fn fails. New
// events come from the server's own announcement of what it stored; one that was missed shows as a gap and is read. A bus
// that goes away meanwhile is waited for.
func (c *Conn) Follow(ctx context.Context, o ReplayOptions, fn func(envelope.Event) error) error {
	filter := subject.TailAll
	if o.Session != "" {
		filter = subject.TailOfSession(o.Session)
	}
	news := make(chan *nats.Msg, followBuffer)
	sub, err := c.nc.ChanSubscribe(filter, news)
	if err != nil {
		return fmt.Errorf("follow %s: %w", filter, err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := c.flush(ctx); err != nil {
		return fmt.Errorf("follow %s: %w", filter, err)
	}
	var last, chain uint64 // last cursor read; last cursor of the followed session
	pass := func(ev envelope.Event) error {
		err := fn(ev)
		if err == nil { // else it comes again, unless the error is one that lasts
			chain = ev.Cursor
		}
		return err
	}
	catchUp := func() error {
		if last > 0 {
			o.From, o.Since = last+1, time.Time{}
		}
		to, err := c.replay(ctx, o, pass)
		last = max(last, to)
		return err
	}
	if err := catchUp(); err != nil {
		return orDone(ctx, err)
	}
	tick := time.NewTicker(followTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-news:
			ev, err := c.tailEvent(ctx, m)
			switch {
			case err != nil || ev.Cursor <= last:
			case o.Session == "" && ev.Cursor == last+1, o.Session != "" && ev.Prev == chain && chain > 0:
				if err = pass(ev); err == nil {
					last = ev.Cursor
				}
			default:
				err = catchUp()
			}
			if lasting(err) {
				return orDone(ctx, err)
			}
		case <-tick.C:
			if err := catchUp(); lasting(err) {
				return orDone(ctx, err)
			}
		}
	}
}

// lasting says whether an error is more than a bus that is away for a moment: the next tick reads on from there.
func lasting(err error) bool {
	k := fault.KindOf(err)
	return err != nil && k != fault.Unavailable && k != fault.Timeout
}

// orDone is err, or nil when it only says that ctx has ended.
func orDone(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// Watch calls fn for new events of some kinds until ctx ends; it returns once subscribed. fn is called concurrently for
// different kinds. Lossy and cheap: for waiters that look themselves from time to time.
func (c *Conn) Watch(ctx context.Context, kinds []string, fn func(envelope.Event)) error {
	return c.watch(ctx, kinds, subject.TailOfKind, fn)
}

// WatchChannel is Watch for the sessions of one channel.
func (c *Conn) WatchChannel(ctx context.Context, channel string, kinds []string, fn func(envelope.Event)) error {
	return c.watch(ctx, kinds, func(kind string) string { return subject.TailOfChannel(channel, kind) }, fn)
}

func (c *Conn) watch(ctx context.Context, kinds []string, of func(kind string) string, fn func(envelope.Event)) error {
	subjects := make([]string, len(kinds))
	for i, k := range kinds {
		subjects[i] = of(k)
	}
	return c.subscribe(ctx, subjects, func(m *nats.Msg) {
		ev, err := c.tailEvent(ctx, m)
		if err != nil {
			c.log.Debug("watched event not read", "subject", m.Subject, "error", err)
			return
		}
		fn(ev)
	})
}

func (c *Conn) tailEvent(ctx context.Context, m *nats.Msg) (envelope.Event, error) {
	cursor, err := strconv.ParseUint(own(m.Header, jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return envelope.Event{}, fmt.Errorf("cursor of %s: %w", m.Subject, err)
	}
	return c.news(ctx, own(m.Header, jetstream.SubjectHeader), m.Header, m.Data, cursor)
}
