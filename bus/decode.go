package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// news is decode for an event that passes by when it is new, and is worth remembering: it reaches a process several times.
func (c *Conn) news(ctx context.Context, subj string, h nats.Header, data []byte, cursor uint64) (envelope.Event, error) {
	if r, ok := c.recent.get(cursor); ok && r.subject == "" {
		return r.event, nil
	}
	ev, err := c.decode(ctx, subj, h, data, cursor)
	if err == nil && h.Get(envelope.HeaderBlob) == "" {
		c.recent.put(cursor, recent{event: ev, data: data})
	}
	return ev, err
}

// decode reads a stored message, and fetches its body from the object store when it was claim-checked. A body that is
// missing or damaged there, or cannot be decoded, becomes envelope.Unknown, as does a copy (see copied); trouble in reaching the store is an error.
func (c *Conn) decode(ctx context.Context, subj string, h nats.Header, data []byte, cursor uint64) (envelope.Event, error) {
	if copied(h, subj, cursor) {
		ev, err := copiedEvent(subj, h, data, cursor)
		c.log.Warn("an event that a server was made to store is not believed", "session", ev.Session, "cursor", cursor)
		return ev, err
	}
	digest := h.Get(envelope.HeaderBlob)
	if digest == "" {
		ev, err := envelope.Decode(subj, envelope.Header(h), data, cursor, registry.Decode)
		if err == nil {
			err = c.foreign(ctx, ev)
		}
		return ev, err
	}
	s, err := subject.ParseEvent(subj)
	if err != nil {
		return envelope.Event{}, fmt.Errorf("%w: %w", envelope.ErrEnvelope, err)
	}
	body := registry.Decode
	data, err = c.getBlob(ctx, s.Session, digest)
	switch {
	case errors.Is(err, errBlob):
		lost := err
		body = func(string, []byte) (envelope.Body, error) { return nil, lost }
	case err != nil:
		return envelope.Event{}, fmt.Errorf("body of event %d: %w", cursor, err)
	}
	ev, err := envelope.Decode(subj, envelope.Header(h), data, cursor, body)
	if err == nil {
		err = c.foreign(ctx, ev)
	}
	return ev, err
}
