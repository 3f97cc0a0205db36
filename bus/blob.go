package bus

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

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

// The layout of a NATS object store (ADR-20): chunks under C, one description of each object under M. It is written and
// read here by plain publishes and direct gets, as nats.go's ObjectStore needs rights that no service has: to purge, and
// to create a consumer.
const (
	chunkSize   = 256 << 10
	chunkPrefix = "$O." + subject.Blobs + ".C."
	metaPrefix  = "$O." + subject.Blobs + ".M."
	blobStream  = "OBJ_" + subject.Blobs
)

func metaSubject(name string) string {
	return metaPrefix + base64.URLEncoding.EncodeToString([]byte(name))
}

// putBlob puts a body or a file of a session into the object store, or finds it there, and holds it as of prev: what a
// tombstone of the session up to that cursor takes away is not this one. See version.
func (c *Conn) putBlob(ctx context.Context, s session.ID, data []byte, prev uint64) (digest string, err error) {
	sum := sha256.Sum256(data)
	digest = hex.EncodeToString(sum[:])
	var mine *jetstream.ObjectInfo // once its chunks are there
	for try := range blobTries {
		v, err := c.blobVersion(ctx, blobName(s, digest))
		switch {
		case err != nil:
			return "", err
		case v.there() && v.prev() >= prev:
			return digest, nil // an earlier attempt has put it
		case v.there():
			err = c.describe(ctx, v, held(v.info, prev))
		default:
			if mine == nil {
				if mine, err = c.putChunks(ctx, v.name, data, sum); err != nil {
					return "", err
				}
			}
			err = c.describe(ctx, v, held(*mine, prev))
		}
		news, overtaken := errors.AsType[*Conflict](err)
		if !overtaken {
			return digest, err
		}
		if err := news.Settle(ctx, try); err != nil {
			return "", err
		}
	}
	return "", fault.New(fault.Busy, "object %s: it changed %d times meanwhile; try again", blobName(s, digest), blobTries)
}

// putChunks stores the bytes of an object, which nobody finds before it is described.
func (c *Conn) putChunks(ctx context.Context, name string, data []byte, sum [sha256.Size]byte) (*jetstream.ObjectInfo, error) {
	info := &jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}},
		Bucket:     subject.Blobs, NUID: nuid.Next(), Size: uint64(len(data)), ModTime: time.Now().UTC(),
		Digest: "SHA-256=" + base64.URLEncoding.EncodeToString(sum[:]),
	}
	for chunk := range slices.Chunk(data, chunkSize) {
		if _, err := c.putObject(ctx, chunkPrefix+info.NUID, nil, chunk); err != nil {
			return nil, fmt.Errorf("object %s: %w", name, err)
		}
		info.Chunks++
	}
	return info, nil
}

func (c *Conn) putObject(ctx context.Context, subj string, h nats.Header, data []byte) (uint64, error) {
	ack, err := c.publish(ctx, &nats.Msg{Subject: subj, Header: h, Data: data})
	if news, lost := conflictOf(err); lost {
		return 0, news
	}
	var api *jetstream.APIError
	switch {
	case err == nil:
		return ack.Sequence, nil
	case errors.As(err, &api) && api.ErrorCode == codeStoreFailed:
		return 0, fault.New(fault.Full, "the object store has no room (%s): free disk space or raise bus.max_bytes", api.Description)
	}
	return 0, fault.New(fault.Unavailable, "%w", err)
}

// getBlob reads a body. One that is purged while it is read is missing.
func (c *Conn) getBlob(ctx context.Context, s session.ID, digest string) ([]byte, error) {
	name := blobName(s, digest)
	v, err := c.blobVersion(ctx, name)
	if err != nil {
		return nil, err
	}
	for {
		data, err := c.getChunks(ctx, v)
		if err != nil {
			return nil, err
		}
		if uint64(len(data)) == v.info.Size {
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != digest {
				return nil, fmt.Errorf("object %s: %w", name, errBlob)
			}
			return data, nil
		}
		seen := v.info.NUID
		if v, err = c.blobVersion(ctx, name); err != nil {
			return nil, err
		}
		if v.there() && v.info.NUID == seen {
			return nil, fault.New(fault.Unavailable, "object %s: %d of %d bytes are there", name, len(data), v.info.Size)
		}
	}
}

// getChunks reads what there is of the bytes of an object.
func (c *Conn) getChunks(ctx context.Context, v version) ([]byte, error) {
	switch {
	case !v.there():
		return nil, fmt.Errorf("object %s: %w", v.name, errBlob)
	case v.info.Size > maxBlob:
		return nil, fmt.Errorf("object %s has %d bytes: %w", v.name, v.info.Size, errBlob)
	}
	data := make([]byte, 0, v.info.Size)
	chunks := chunkPrefix + v.info.NUID
	for next := uint64(1); uint64(len(data)) < v.info.Size; {
		msgs, err := c.page(ctx, blobStream, chunks, next, 256)
		if err != nil {
			return nil, fmt.Errorf("object %s: %w", v.name, err)
		}
		if len(msgs) == 0 {
			break
		}
		for _, m := range msgs {
			data, next = append(data, m.Data...), m.Sequence+1
		}
	}
	return data, nil
}

// errBlob says that a body is not there, or not what the event was appended with.
var errBlob = errors.New("the body is missing or damaged")

// maxBlob bounds what is read into memory for one event.
const maxBlob = 64 << 20
