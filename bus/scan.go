package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Raw is a message of the journal as it lies there.
type Raw struct {
	Subject string
	Header  nats.Header
	Data    []byte
	Cursor  uint64
}

// Scan is Replay without decoding, for who spreads that over several goroutines; see Decode.
func (c *Conn) Scan(ctx context.Context, o ReplayOptions, fn func(Raw) error) error {
	_, err := c.scan(ctx, o, fn)
	return err
}

// Decode reads a stored message. envelope.ErrEnvelope: it is no event.
func (c *Conn) Decode(ctx context.Context, m Raw) (envelope.Event, error) {
	return c.decode(ctx, m.Subject, m.Header, m.Data, m.Cursor)
}

// scan reads the next batch while fn works on the one before.
func (c *Conn) scan(ctx context.Context, o ReplayOptions, fn func(Raw) error) (uint64, error) {
	next := max(o.From, 1)
	if o.To == 0 {
		u, err := c.Journal().Usage(ctx)
		if err != nil {
			return 0, err
		}
		o.To = u.Last
	}
	if next > o.To {
		return max(o.To, next-1), nil
	}
	ctx, stop := context.WithCancel(ctx)
	batches := make(chan batchOf)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer stop()
	reading.Go(func() {
		defer close(batches)
		if c.service == Admin && o.filter() == "" && o.Since.IsZero() && o.To-next >= longPart {
			c.streamAhead(ctx, o, next, batches)
			return
		}
		c.readAhead(ctx, o, next, batches)
	})
	for b := range batches {
		if b.err != nil {
			return next - 1, fmt.Errorf("read the journal from %d: %w", next, b.err)
		}
		for _, m := range b.msgs {
			if m.Cursor > o.To {
				return o.To, nil
			}
			next = m.Cursor + 1
			if err := fn(m); err != nil {
				return m.Cursor - 1, err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return next - 1, fmt.Errorf("read the journal from %d: %w", next, err)
	}
	return max(o.To, next-1), nil
}

type batchOf struct {
	msgs []Raw
	err  error
}

func (b batchOf) send(ctx context.Context, to chan<- batchOf) (sent bool) {
	select {
	case to <- b:
		return true
	case <-ctx.Done():
		return false
	}
}

// readAhead sends one batch after the other, up to the end of the part or an error.
func (c *Conn) readAhead(ctx context.Context, o ReplayOptions, next uint64, to chan<- batchOf) {
	if !o.Since.IsZero() {
		var err error
		if next, err = c.since(ctx, o.Since, o.To); err != nil {
			_ = batchOf{err: err}.send(ctx, to)
			return
		}
	}
	for next <= o.To {
		msgs, err := c.page(ctx, subject.Journal, o.filter(), next, replayBatch)
		if len(msgs) == 0 && err == nil {
			return
		}
		b := batchOf{make([]Raw, len(msgs)), err}
		for i, m := range msgs {
			b.msgs[i] = Raw{m.Subject, m.Header, m.Data, m.Sequence}
		}
		if !b.send(ctx, to) || err != nil {
			return
		}
		next = msgs[len(msgs)-1].Sequence + 1
	}
}

// since is where to read on from for the events stored at a time or after it; beyond last if there is none up to that.
func (c *Conn) since(ctx context.Context, at time.Time, last uint64) (uint64, error) {
	msgs, err := c.batch(ctx, subject.Journal, 1, jetstreamext.GetBatchStartTime(at))
	if err != nil {
		return 0, err
	}
	if len(msgs) > 0 {
		return msgs[0].Sequence, nil
	}
	return c.leaderSince(ctx, at, last) // a copy that lags may have none yet
}

// leaderSince is since by the leader, which has no request for it: it is looked for by halves. Cursors of deleted events are as those of
// the next one that is left.
func (c *Conn) leaderSince(ctx context.Context, at time.Time, last uint64) (uint64, error) {
	low, high := uint64(1), last+1 // it is one of these
	for low < high {
		middle := low + (high-low)/2
		m, err := c.leaderGet(ctx, subject.Journal, leaderRequest{Seq: middle, NextFor: ">"})
		switch {
		case errors.Is(err, ErrNoEvent):
			high = middle
		case err != nil:
			return 0, err
		case m.Time.Before(at):
			low = m.Seq + 1
		default:
			high = middle
		}
	}
	return low, nil
}

const (
	longPart   = 4096 // events; for fewer a consumer is not worth making
	streamPull = 2000
	streamIdle = 10 * time.Second // without a message: the server is away
)

// streamAhead is readAhead by an ordered consumer, which costs half of what direct gets do. Only the owner of the topology may
// make one.
func (c *Conn) streamAhead(ctx context.Context, o ReplayOptions, next uint64, to chan<- batchOf) {
	fail := func(err error) { _ = batchOf{err: fault.New(fault.Unavailable, "%w", err)}.send(ctx, to) }
	stream, err := c.js.Stream(ctx, subject.Journal)
	if err != nil {
		fail(err)
		return
	}
	cons, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: next,
	})
	if err != nil {
		fail(err)
		return
	}
	it, err := cons.Messages(jetstream.PullMaxMessages(streamPull))
	if err != nil {
		fail(err)
		return
	}
	defer it.Stop()
	unhook := context.AfterFunc(ctx, it.Stop)
	defer unhook()
	var b batchOf
	for left := uint64(1); left > 0; {
		m, err := it.Next(jetstream.NextMaxWait(streamIdle))
		if err == nil && ctx.Err() != nil {
			return
		}
		var meta *jetstream.MsgMetadata
		if err == nil {
			meta, err = m.Metadata()
		}
		if err != nil {
			fail(err)
			return
		}
		if next = meta.Sequence.Stream + 1; next > o.To {
			left = 0
		} else {
			left = meta.NumPending
		}
		b.msgs = append(b.msgs, Raw{m.Subject(), m.Headers(), m.Data(), next - 1})
		if len(b.msgs) == replayBatch || left == 0 {
			if !b.send(ctx, to) {
				return
			}
			b = batchOf{}
		}
	}
	c.readAhead(ctx, o, next, to) // the copy that the consumer reads may lag
}
