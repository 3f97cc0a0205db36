package bus

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
)

// decode reads a stored message, and fetches its body from the object store when it was claim-checked. A body that is
// missing there or cannot be decoded becomes envelope.Unknown; trouble in reaching the store is an error.
func (c *Conn) decode(ctx context.Context, subj string, h nats.Header, data []byte, cursor uint64) (envelope.Event, error) {
	if blob := h.Get(envelope.HeaderBlob); blob != "" {
		var err error
		if data, err = c.getBlob(ctx, blob); err != nil {
			return envelope.Event{}, fmt.Errorf("body of event %d: %w", cursor, err)
		}
	}
	return envelope.Decode(subj, envelope.Header(h), data, cursor, registry.Decode)
}
