package bus

import (
	"context"
	"errors"
	"iter"

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
	opts = append(opts, jetstreamext.GetBatchMaxBytes(batchBytes))
	msgs, _, err := again(ctx, c, directGet(stream), func(ctx context.Context) ([]*jetstream.RawStreamMsg, error) {
		msgs, err := gather(jetstreamext.GetBatch(ctx, c.js, stream, n, opts...))
		if len(msgs) == 0 && err == nil { // else what has come is a part that can be gone on from
			err = ctx.Err()
		}
		return msgs, err
	})
	if err != nil {
		return nil, unread("messages of "+stream, err)
	}
	return msgs, nil
}

// lasts reads the last message of each subject that matches a filter, all of them, by one direct get.
func (c *Conn) lasts(ctx context.Context, stream string, filters []string, opts ...jetstreamext.GetLastForOpt) ([]*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	msgs, _, err := again(ctx, c, directGet(stream), func(ctx context.Context) ([]*jetstream.RawStreamMsg, error) {
		msgs, err := gather(jetstreamext.GetLastMsgsFor(ctx, c.js, stream, filters, opts...))
		if err == nil {
			err = ctx.Err() // what has come may be a part
		}
		return msgs, err
	})
	if err != nil {
		return nil, unread("last messages of "+stream, err)
	}
	return msgs, nil
}

// unread is the fault of messages that were not read: their own, or that of a question without an answer.
func unread(what string, err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return fault.New(f.Kind, "%s: %w", what, err)
	}
	return fault.New(unanswered(err), "%s: %w", what, err)
}

func directGet(stream string) string { return apiRoot + "DIRECT.GET." + stream }

// gather reads what comes. The library does not tell when that ends with its context instead of an answer.
func gather(seq iter.Seq2[*jetstream.RawStreamMsg, error], err error) (msgs []*jetstream.RawStreamMsg, _ error) {
	if err != nil {
		return nil, err
	}
	for m, err := range seq {
		if errors.Is(err, jetstreamext.ErrNoMessages) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := placed(m); err != nil {
			return nil, err
		}
		msgs = append(msgs, m)
	}
	return msgs, nil
}
