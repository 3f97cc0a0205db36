package backup

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats-server/v2/server/archive"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

const (
	tailTime = time.Minute // bounds a tail: a stream that changes faster than it is read has none that ends
	slab     = 32          // messages that are read at once, and held in memory
	parallel = 16          // questions that are open at once
)

// tail writes what was stored after the snapshot's last sequence, in rounds up to what is the last one then. A message that
// has gone before it was read was replaced, or purged: its replacement, or the tombstone, was stored before the next round
// begins. So a round that finds all that it looks for, or has nothing to look for, is the last.
func (c *copying) tail(ctx context.Context, admin *bus.Conn) error {
	ctx, cancel := context.WithTimeoutCause(ctx, tailTime,
		fault.New(fault.Busy, "it was changed faster than it could be read, for %s; try again when there is less to do", tailTime))
	defer cancel()
	c.next = c.saved.Last + 1
	for {
		now, err := stateOf(ctx, admin, c.saved.Name)
		if err != nil {
			return err
		}
		whole := true
		for from := c.next; from <= now.Last; from += slab {
			all, err := c.read(ctx, admin, from, min(from+slab-1, now.Last))
			if err != nil {
				return err
			}
			whole = whole && all
		}
		c.next = max(c.next, now.Last+1)
		if whole {
			return nil
		}
	}
}

// read writes the messages of some sequences that are still there, and says whether all were.
func (c *copying) read(ctx context.Context, admin *bus.Conn, from, to uint64) (all bool, err error) {
	got := make([]message, to-from+1)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i := range got {
		g.Go(func() (err error) {
			got[i], err = stored(gctx, admin, c.saved.Name, from+uint64(i))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return false, errors.Join(context.Cause(ctx), err)
	}
	all = true
	for _, m := range got {
		if m.Seq == 0 {
			all = false
			continue
		}
		hdr := &archive.Header{
			Name: m.Subject, Sequence: m.Seq, Timestamp: m.Time.UnixNano(),
			HeaderSize: int64(len(m.Header)), PayloadSize: int64(len(m.Data)),
		}
		if err := c.message(hdr, bytes.NewReader(append(m.Header, m.Data...))); err != nil {
			return false, err
		}
	}
	return all, nil
}

// message is a message as it is stored.
type message struct {
	Subject string    `json:"subject"`
	Seq     uint64    `json:"seq"`
	Header  []byte    `json:"hdrs"`
	Data    []byte    `json:"data"`
	Time    time.Time `json:"time"`
}

// stored reads one message from the leader, as a copy may lag; none, when it is not there.
func stored(ctx context.Context, admin *bus.Conn, stream string, seq uint64) (message, error) {
	request := struct {
		Seq uint64 `json:"seq"`
	}{seq}
	var r struct {
		Message message `json:"message"`
	}
	err := api(ctx, admin, "STREAM.MSG.GET."+stream, request, &r)
	if refused, ok := errors.AsType[*jetstream.APIError](err); ok && refused.ErrorCode == jetstream.JSErrCodeMessageNotFound {
		return message{}, nil
	}
	return r.Message, err
}
