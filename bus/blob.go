package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// ClaimCheckSize is the largest body, in bytes, that travels in an event. A larger one is put into the object store
// under the event's id before the event is appended, and the event carries the reference (header jc-blob).
const ClaimCheckSize = 64 << 10

func (c *Conn) blobs(ctx context.Context) (jetstream.ObjectStore, error) {
	os, err := c.js.ObjectStore(ctx, subject.Blobs)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "object store %s: %w", subject.Blobs, err)
	}
	return os, nil
}

func (c *Conn) putBlob(ctx context.Context, name string, data []byte) error {
	os, err := c.blobs(ctx)
	if err != nil {
		return err
	}
	if _, err := os.Put(ctx, jetstream.ObjectMeta{Name: name}, bytes.NewReader(data)); err != nil {
		var api *jetstream.APIError
		if errors.As(err, &api) && api.ErrorCode == codeStoreFailed {
			return fault.New(fault.Full, "the object store has no room (%s): free disk space or raise bus.max_bytes", api.Description)
		}
		return fault.New(fault.Unavailable, "put %s: %w", name, err)
	}
	return nil
}

// getBlob reads an object by direct gets: ObjectStore.Get would create a consumer, which no service may.
func (c *Conn) getBlob(ctx context.Context, name string) ([]byte, error) {
	os, err := c.blobs(ctx)
	if err != nil {
		return nil, err
	}
	info, err := os.GetInfo(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, nil // the event is told apart by its body, which then cannot be decoded
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, "object %s: %w", name, err)
	}
	data := make([]byte, 0, info.Size)
	chunks := "$O." + subject.Blobs + ".C." + info.NUID
	for next := uint64(1); uint64(len(data)) < info.Size; {
		msgs, err := jetstreamext.GetBatch(ctx, c.js, "OBJ_"+subject.Blobs, 256,
			jetstreamext.GetBatchSeq(next), jetstreamext.GetBatchSubject(chunks))
		if err != nil {
			return nil, fault.New(fault.Unavailable, "object %s: %w", name, err)
		}
		before := next
		for m, err := range msgs {
			if errors.Is(err, jetstreamext.ErrNoMessages) {
				break
			}
			if err != nil {
				return nil, fault.New(fault.Unavailable, "object %s: %w", name, err)
			}
			data, next = append(data, m.Data...), m.Sequence+1
		}
		if next == before {
			return nil, fault.New(fault.Unavailable, "object %s: %d of %d bytes are there", name, len(data), info.Size)
		}
	}
	want, err := jetstream.DecodeObjectDigest(info.Digest)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", name, err)
	}
	if got := sha256.Sum256(data); !bytes.Equal(got[:], want) {
		return nil, fault.New(fault.Internal, "object %s is damaged: its digest differs", name)
	}
	return data, nil
}
