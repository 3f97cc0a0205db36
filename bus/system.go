package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// The stream SYS tells what happened to a thing of a service (an item: a server, a connection), one event a decision, appended by
// compare-and-set over the item. It drops its oldest, so each event says all that is to be known of what it is about: the last
// of each verb are enough for a fold.

// SystemEvent is one event of the stream SYS.
type SystemEvent struct {
	Service, Item, Verb string
	ID                  string
	Time                time.Time
	Cursor              uint64 // in SYS
	Body                json.RawMessage
}

// maxSystem bounds one event, in bytes.
const maxSystem = 64 << 10

// AppendSystem tells what happened to an item of the connection's service, if prev is still the cursor of the item's last event (0:
// it has none). It returns the new cursor. Errors: *Conflict, fault.Full, Timeout, Unavailable.
func (c *Conn) AppendSystem(ctx context.Context, item, verb string, body any, prev uint64) (uint64, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return 0, fmt.Errorf("encode %s of %s: %w", verb, item, err)
	}
	if len(data) > maxSystem {
		return 0, fault.New(fault.TooLarge, "%s of %s: %d bytes, at most %d", verb, item, len(data), maxSystem)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ack, err := c.js.PublishMsg(ctx, &nats.Msg{
		Subject: subject.OfSystem(c.service, item, verb), Data: data,
		Header: nats.Header{
			envelope.HeaderID:                       {nuid.Next()},
			envelope.HeaderSource:                   {c.service + "/" + c.instance},
			envelope.HeaderTime:                     {time.Now().UTC().Format(time.RFC3339Nano)},
			jetstream.ExpectedLastSubjSeqHeader:     {fmt.Sprint(prev)},
			jetstream.ExpectedLastSubjSeqSubjHeader: {subject.SystemOf(c.service, item)},
		},
	})
	if err != nil {
		if api, ok := errors.AsType[*jetstream.APIError](err); ok && (api.ErrorCode == codeWrongLast || api.ErrorCode == codeWrongLastConstant) {
			return 0, &Conflict{}
		}
		return 0, fault.New(fault.Unavailable, "tell %s of %s: %w", verb, item, err)
	}
	return ack.Sequence, nil
}

// SystemLast is the last event of each verb of an item of the connection's service, oldest first; "*" is all items.
func (c *Conn) SystemLast(ctx context.Context, item string) ([]SystemEvent, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	msgs, err := c.lastsFor(ctx, subject.System, subject.SystemOf(c.service, item))
	if err != nil {
		return nil, fmt.Errorf("read what happened to %s: %w", item, err)
	}
	return c.systemEvents(msgs), nil
}

// SystemSince are the events of all items of the connection's service after a cursor, oldest first, as many as come at once: what
// follows somebody who has read all up to there costs little.
func (c *Conn) SystemSince(ctx context.Context, after uint64) ([]SystemEvent, error) {
	filter := subject.SystemOf(c.service, "*")
	next, err := c.directNext(ctx, subject.System, filter, after+1)
	if err != nil {
		return nil, fmt.Errorf("read what happened since %d: %w", after, err)
	}
	if next == 0 {
		return nil, nil
	}
	msgs, err := c.batch(ctx, subject.System, replayBatch, jetstreamext.GetBatchSeq(next), jetstreamext.GetBatchSubject(filter))
	if err != nil {
		return nil, fmt.Errorf("read what happened since %d: %w", after, err)
	}
	return c.systemEvents(msgs), nil
}

// directNext is the sequence of the first message from a sequence on whose subject matches the filter, as one copy of the stream
// knows it; 0: it has none.
func (c *Conn) directNext(ctx context.Context, stream, filter string, from uint64) (uint64, error) {
	req, err := json.Marshal(leaderRequest{Seq: from, NextFor: filter})
	if err != nil {
		return 0, err
	}
	m, err := c.request(ctx, "$JS.API.DIRECT.GET."+stream, req)
	if err != nil {
		return 0, fault.New(fault.Unavailable, "%w", err)
	}
	switch status := m.Header.Get("Status"); status {
	case "":
		return strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	case "404":
		return 0, nil
	default:
		return 0, fault.New(fault.Unavailable, "%s %s", status, m.Header.Get("Description"))
	}
}

func (c *Conn) systemEvents(msgs []*jetstream.RawStreamMsg) []SystemEvent {
	var all []SystemEvent
	for _, m := range msgs {
		var err error
		ev := SystemEvent{Cursor: m.Sequence, Body: m.Data, ID: m.Header.Get(envelope.HeaderID)}
		if ev.Service, ev.Item, ev.Verb, err = subject.ParseSystem(m.Subject); err != nil {
			c.log.Warn("not an event of a server", "subject", m.Subject, "error", err)
			continue
		}
		if ev.Time, err = time.Parse(time.RFC3339Nano, m.Header.Get(envelope.HeaderTime)); err != nil {
			ev.Time = m.Time
		}
		all = append(all, ev)
	}
	slices.SortFunc(all, func(a, b SystemEvent) int { return int(a.Cursor) - int(b.Cursor) })
	return all
}
