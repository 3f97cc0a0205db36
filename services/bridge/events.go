package bridge

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/bridge/event"
)

const (
	pollMost, pollUsual = 200, 20
	waitMost, waitUsual = 5 * time.Minute, 30 * time.Second
)

type pollIn struct {
	After   *uint64      `json:"after_cursor,omitempty"`
	Session string       `json:"session_key,omitempty"`
	Limit   int          `json:"limit,omitempty"`
	Types   []event.Type `json:"types,omitempty"`
	Text    int          `json:"text_limit,omitempty"`
}

type pollOut struct {
	Events []event.Event `json:"events"`
	Next   uint64        `json:"next_cursor"`
	More   bool          `json:"more,omitempty"`
	Gap    *Gap          `json:"gap,omitempty"`
}

func (b *Bridge) eventsPoll(ctx context.Context, _ *mcp.CallToolRequest, in pollIn) (string, pollOut, error) {
	q, err := b.queryOf(ctx, in.After, in.Session, in.Types, false)
	if err != nil {
		return "", pollOut{}, err
	}
	q.limit, q.text = in.Limit, in.Text
	if q.limit == 0 {
		q.limit = pollUsual
	}
	p, err := b.read(ctx, q)
	if err != nil {
		return "", pollOut{}, err
	}
	out := pollOut{Events: p.events, Next: p.next, More: p.more, Gap: p.gap}
	if out.Events == nil {
		out.Events = []event.Event{}
	}
	return fmt.Sprintf("events: %d", len(out.Events)), out, nil
}

type waitIn struct {
	After   *uint64      `json:"after_cursor,omitempty"`
	Session string       `json:"session_key,omitempty"`
	Timeout int          `json:"timeout_ms,omitempty"`
	Types   []event.Type `json:"types,omitempty"`
	Text    int          `json:"text_limit,omitempty"`
}

type waitOut struct {
	Event *event.Event `json:"event"` // nil: none came in time
	// Events are all that share the cursor of Event, when it is not the only one.
	Events []event.Event `json:"events,omitempty"`
	Next   uint64        `json:"next_cursor"`
	Gap    *Gap          `json:"gap,omitempty"`

	text int // the limit of texts
}

// key is the same for all who are told of one event in one way.
func (o waitOut) key() any {
	if o.Event == nil || o.Gap != nil || len(o.Events) > 0 {
		return nil
	}
	type one struct {
		cursor, next uint64
		of           event.Type
		in           session.ID
		at           time.Time // of another journal it is another
		text         int
	}
	return one{o.Event.Cursor, o.Next, o.Event.Type, o.Event.Session, o.Event.Time, o.text}
}

func (b *Bridge) eventsWait(ctx context.Context, _ *mcp.CallToolRequest, in waitIn) (string, waitOut, error) {
	limit := waitUsual
	if in.Timeout > 0 {
		limit = time.Duration(in.Timeout) * time.Millisecond
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	q, err := b.queryOf(ctx, in.After, in.Session, in.Types, true)
	if err != nil {
		return "", waitOut{}, err
	}
	q.limit, q.text = 1, in.Text
	for {
		p, changed, err := b.glance(ctx, q)
		if err != nil {
			return "", waitOut{}, err
		}
		out := waitOut{Next: p.next, Gap: p.gap, text: in.Text}
		if len(p.events) > 0 {
			out.Event = &p.events[0]
			if out.Next = p.events[0].Cursor; len(p.events) > 1 {
				out.Events = p.events
			}
			return "event: " + string(out.Event.Type), out, nil
		}
		if p.gap != nil {
			return "gap", out, nil
		}
		q.after = p.next
		if p.more {
			continue
		}
		select {
		case <-changed:
		case <-timer.C:
			if conn, _ := b.line.now(); conn == nil {
				return "", waitOut{}, b.line.away()
			}
			return "timeout", out, nil
		case <-ctx.Done():
			return "", waitOut{}, context.Cause(ctx)
		}
	}
}

// queryOf reads what polls and waits have in common. Without a cursor it is the place where this server began or, for who waits, the
// end of the journal.
func (b *Bridge) queryOf(ctx context.Context, after *uint64, key string, types []event.Type, end bool) (query, error) {
	q := query{types: types}
	if len(types) == 0 {
		q.types = event.Usual()
	}
	if key != "" {
		id, err := b.known(ctx, key)
		if err != nil {
			return q, err
		}
		q.session = id
	}
	if after == nil {
		start, upto, ok := b.reader.ends()
		if !ok {
			if err := b.begun(ctx); err != nil {
				return q, err
			}
			start, upto, _ = b.reader.ends()
		}
		if q.after = start; end {
			q.after = upto
		}
		return q, nil
	}
	q.after = *after
	if _, upto, ok := b.reader.ends(); ok && q.after <= upto {
		return q, nil
	}
	return q, b.reach(ctx, q.after)
}

// known is a conversation that somebody has named, if there is one.
func (b *Bridge) known(ctx context.Context, key string) (session.ID, error) {
	id, err := sessionOf(key)
	if err != nil {
		return "", err
	}
	if _, err := b.conversation(ctx, id); err != nil {
		return "", err
	}
	return id, nil
}

// begun waits until the journal was reached for the first time.
func (b *Bridge) begun(ctx context.Context) error {
	if _, err := b.line.get(ctx); err != nil {
		return err
	}
	timer := time.NewTimer(b.config.Patience)
	defer timer.Stop()
	for {
		changed := b.reader.news()
		if _, _, ok := b.reader.ends(); ok {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return b.line.away()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// behindTime is what a poll waits for events that were stored before it and are still on their way.
const behindTime = 5 * time.Second

// reach waits until the reader is at a cursor. One that the journal has not reached is of another journal.
func (b *Bridge) reach(ctx context.Context, cursor uint64) error {
	last, err := with(ctx, b.line, journalEnd)
	if err != nil {
		return err
	}
	if cursor > last {
		return fault.New(fault.Invalid, "after_cursor %d is not of this journal, which ends at %d: take one that this server has given", cursor, last)
	}
	b.wait(ctx, cursor)
	return nil
}

func journalEnd(ctx context.Context, conn *bus.Conn) (uint64, error) {
	u, err := conn.Journal().Usage(ctx)
	return u.Last, err
}

// wait waits for the reader, for a while.
func (b *Bridge) wait(ctx context.Context, cursor uint64) {
	timer := time.NewTimer(behindTime)
	defer timer.Stop()
	for {
		changed := b.reader.news()
		if _, upto, ok := b.reader.ends(); ok && upto >= cursor {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// read is a page with all that was stored before it was asked for.
func (b *Bridge) read(ctx context.Context, q query) (page, error) {
	last, err := with(ctx, b.line, journalEnd)
	if err != nil {
		return page{}, err
	}
	b.wait(ctx, last)
	p, _, err := b.glance(ctx, q)
	return p, err
}

// glance is a page from memory or, where that does not go back so far, from the journal. changed is closed when there is more.
func (b *Bridge) glance(ctx context.Context, q query) (page, <-chan struct{}, error) {
	p, changed, ok, err := b.reader.look(q)
	if err != nil || ok {
		return p, changed, err
	}
	if err := b.looks.enter(ctx); err != nil {
		return p, changed, err
	}
	defer b.looks.leave()
	_, upto, _ := b.reader.ends()
	p, err = with(ctx, b.line, func(ctx context.Context, conn *bus.Conn) (page, error) { return past(ctx, conn, q, upto) })
	return p, changed, err
}
