package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

const (
	copyBatch = 500
	copyTime  = 20 * time.Second // of one batch
)

// Copy reads the journal as one of the servers has stored it. A server answers direct questions from its own copy when it has one
// that is up to date; when all copies are, each answers for itself.
func (c *Cluster) Copy(ctx context.Context, node int) ([]store.Record, error) {
	seed, err := os.ReadFile(c.key(bus.Admin))
	if err != nil {
		return nil, fmt.Errorf("key of %s: %w", bus.Admin, err)
	}
	conn, err := bus.Connect(ctx, bus.ConnOptions{
		Service: bus.Admin, URL: "nats://" + c.Nodes[node].Address, Seed: bytes.TrimSpace(seed), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	blobs, err := conn.JetStream().ObjectStore(ctx, subject.Blobs)
	if err != nil {
		return nil, fmt.Errorf("bodies that are kept apart: %w", err)
	}
	var out []store.Record
	for from := uint64(1); ; {
		msgs, err := batchFrom(ctx, conn.JetStream(), from)
		if err != nil {
			return nil, fmt.Errorf("after %d events: %w", len(out), err)
		}
		if len(msgs) == 0 {
			return out, nil
		}
		for _, m := range msgs {
			r, err := store.Read(ctx, store.Message{Subject: m.Subject, Header: m.Header, Data: m.Data, Sequence: m.Sequence, Stored: m.Time}, blobs)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
			from = m.Sequence + 1
		}
	}
}

// batchFrom reads some messages; none is the end.
func batchFrom(ctx context.Context, js jetstream.JetStream, from uint64) ([]*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, copyTime)
	defer cancel()
	seq, err := jetstreamext.GetBatch(ctx, js, subject.Journal, copyBatch, jetstreamext.GetBatchSeq(from))
	if err != nil {
		return nil, err
	}
	var out []*jetstream.RawStreamMsg
	for m, err := range seq {
		if errors.Is(err, jetstreamext.ErrNoMessages) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		return nil, errors.New("no answer in time")
	}
	return out, nil
}
