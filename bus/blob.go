package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// ClaimCheckSize is the largest body, in bytes, that travels in an event. A larger one is put into the object store
// before the event is appended, and the event carries its SHA-256 (header jc-blob): whoever reads it sees whether it is
// the same.
const ClaimCheckSize = 64 << 10

// blobName is where a body of a session lies in the object store. The name follows from the content, so a repeated put is
// the same object.
func blobName(s session.ID, digest string) string { return string(s) + "/" + digest }

func (c *Conn) blobs(ctx context.Context) (jetstream.ObjectStore, error) {
	os, err := c.js.ObjectStore(ctx, subject.Blobs)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "object store %s: %w", subject.Blobs, err)
	}
	return os, nil
}

func (c *Conn) putBlob(ctx context.Context, s session.ID, data []byte) (digest string, err error) {
	os, err := c.blobs(ctx)
	if err != nil {
		return "", err
	}
	digest = digestOf(data)
	name := blobName(s, digest)
	if _, err := os.GetInfo(ctx, name); err == nil {
		return digest, nil // a second put would purge the first one's chunks, which no service may
	}
	if _, err := os.Put(ctx, jetstream.ObjectMeta{Name: name}, bytes.NewReader(data)); err != nil {
		var api *jetstream.APIError
		if errors.As(err, &api) && api.ErrorCode == codeStoreFailed {
			return "", fault.New(fault.Full, "the object store has no room (%s): free disk space or raise bus.max_bytes", api.Description)
		}
		return "", fault.New(fault.Unavailable, "put %s: %w", name, err)
	}
	return digest, nil
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// errBlob says that a body is not there, or not what the event was appended with.
var errBlob = errors.New("the body is missing or damaged")

// getBlob reads a body by direct gets: ObjectStore.Get would create a consumer, which no service may.
func (c *Conn) getBlob(ctx context.Context, s session.ID, digest string) ([]byte, error) {
	os, err := c.blobs(ctx)
	if err != nil {
		return nil, err
	}
	name := blobName(s, digest)
	info, err := os.GetInfo(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("object %s: %w", name, errBlob)
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, "object %s: %w", name, err)
	}
	if info.Size > maxBlob {
		return nil, fmt.Errorf("object %s has %d bytes: %w", name, info.Size, errBlob)
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
	if digestOf(data) != digest {
		return nil, fmt.Errorf("object %s: %w", name, errBlob)
	}
	return data, nil
}

// maxBlob bounds what is read into memory for one event.
const maxBlob = 64 << 20
