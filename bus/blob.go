package bus

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
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

func (c *Conn) putBlob(ctx context.Context, s session.ID, data []byte) (digest string, err error) {
	sum := sha256.Sum256(data)
	digest = hex.EncodeToString(sum[:])
	name := blobName(s, digest)
	if _, err := c.blobInfo(ctx, name); err == nil {
		return digest, nil // an earlier attempt has put it
	} else if !errors.Is(err, errBlob) {
		return "", err
	}
	info := jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}},
		Bucket:     subject.Blobs, NUID: nuid.Next(), Size: uint64(len(data)), ModTime: time.Now().UTC(),
		Digest: "SHA-256=" + base64.URLEncoding.EncodeToString(sum[:]),
	}
	for chunk := range slices.Chunk(data, chunkSize) {
		if err := c.putObject(ctx, chunkPrefix+info.NUID, nil, chunk); err != nil {
			return "", fmt.Errorf("object %s: %w", name, err)
		}
		info.Chunks++
	}
	meta, err := json.Marshal(info)
	if err != nil {
		return "", err
	}
	if err := c.putObject(ctx, metaSubject(name), nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}, meta); err != nil {
		return "", fmt.Errorf("object %s: %w", name, err)
	}
	return digest, nil
}

func (c *Conn) putObject(ctx context.Context, subj string, h nats.Header, data []byte) error {
	_, err := c.js.PublishMsg(ctx, &nats.Msg{Subject: subj, Header: h, Data: data})
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &api) && api.ErrorCode == codeStoreFailed:
		return fault.New(fault.Full, "the object store has no room (%s): free disk space or raise bus.max_bytes", api.Description)
	}
	return fault.New(fault.Unavailable, "%w", err)
}

// blobInfo describes an object; errBlob when there is none.
func (c *Conn) blobInfo(ctx context.Context, name string) (info jetstream.ObjectInfo, err error) {
	m, err := c.request(ctx, "$JS.API.DIRECT.GET."+blobStream+"."+metaSubject(name), nil)
	if err != nil {
		return info, fault.New(fault.Unavailable, "object %s: %w", name, err)
	}
	if m.Header.Get("Status") != "" {
		return info, fmt.Errorf("object %s: %w", name, errBlob)
	}
	if err := json.Unmarshal(m.Data, &info); err != nil || info.Deleted {
		return info, fmt.Errorf("object %s: %w", name, errBlob)
	}
	return info, nil
}

// errBlob says that a body is not there, or not what the event was appended with.
var errBlob = errors.New("the body is missing or damaged")

// getBlob reads a body.
func (c *Conn) getBlob(ctx context.Context, s session.ID, digest string) ([]byte, error) {
	name := blobName(s, digest)
	info, err := c.blobInfo(ctx, name)
	if err != nil {
		return nil, err
	}
	if info.Size > maxBlob {
		return nil, fmt.Errorf("object %s has %d bytes: %w", name, info.Size, errBlob)
	}
	data := make([]byte, 0, info.Size)
	chunks := chunkPrefix + info.NUID
	for next := uint64(1); uint64(len(data)) < info.Size; {
		msgs, err := c.batch(ctx, blobStream, 256, jetstreamext.GetBatchSeq(next), jetstreamext.GetBatchSubject(chunks))
		if err != nil {
			return nil, fmt.Errorf("object %s: %w", name, err)
		}
		for _, m := range msgs {
			data, next = append(data, m.Data...), m.Sequence+1
		}
		if len(msgs) == 0 {
			return nil, fault.New(fault.Unavailable, "object %s: %d of %d bytes are there", name, len(data), info.Size)
		}
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != digest {
		return nil, fmt.Errorf("object %s: %w", name, errBlob)
	}
	return data, nil
}

// maxBlob bounds what is read into memory for one event.
const maxBlob = 64 << 20
