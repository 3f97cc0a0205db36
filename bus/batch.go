package bus

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

const batchBytes = 8 << 20 // a batch is in memory as a whole

// batch reads up to n messages of a stream by one direct get; none is no error. It ends after requestTimeout even when the
// server went away in the middle: the library waits for as long as its context lasts.
func (c *Conn) batch(ctx context.Context, stream string, n int, opts ...jetstreamext.GetBatchOpt) ([]*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	seq, err := jetstreamext.GetBatch(ctx, c.js, stream, n, append(opts, jetstreamext.GetBatchMaxBytes(batchBytes))...)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "%w", err)
	}
	var msgs []*jetstream.RawStreamMsg
	for m, err := range seq {
		if errors.Is(err, jetstreamext.ErrNoMessages) {
			return msgs, nil
		}
		if err != nil {
			return nil, fault.New(fault.Unavailable, "%w", err)
		}
		if err := placed(m); err != nil {
			return nil, fault.New(fault.Internal, "%w", err)
		}
		msgs = append(msgs, m)
	}
	if len(msgs) == 0 { // the server says so when there are none: this question was lost, and the library does not tell
		return nil, fault.New(fault.Timeout, "no answer in time to a question for messages of %s", stream)
	}
	return msgs, nil
}
