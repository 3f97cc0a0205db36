package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// version is an object of the store as it is described by one message. An object is purged when its session was deleted,
// while a new message of the same session may be about to use the same bytes again: put finds them there, and the event
// that names them comes only after. Three rules keep a body that is named above the tombstone from being lost; none of
// them looks at a clock.
//
//	hold    Each description says as of which cursor of the session (prev) somebody has held the object. Who appends at a
//	        cursor p has held all that the event names as of p, or as of a cursor with no tombstone between it and p. One
//	        who finds an older hold describes the object anew, without its bytes.
//	purge   A tombstone takes only what was last held below it. Nothing of that can be named above it: an append at a
//	        cursor of the tombstone or later has held it since, and one at an earlier cursor loses its compare-and-set.
//	swap    Both write a description by compare-and-set over the one that they have read. So either the purge comes
//	        first, and who wants to hold the object sees it gone and puts it again, or the hold does, and the purge loses.
//
// What was put and then named by no event, as an append failed, goes with the session's next tombstone. An object that an
// older jetclaw has put says nothing of a cursor: of these the purge looks for names above the tombstone itself.
type version struct {
	name string
	seq  uint64 // of the description in the stream of objects; 0: there is none
	info jetstream.ObjectInfo
}

// heldAt is the key of the cursor in a description.
const heldAt = "jc-prev"

// there says whether the object has bytes: one that is being purged has none.
func (v version) there() bool { return v.seq != 0 && !v.info.Deleted }

// prev is the cursor as of which the object is held.
func (v version) prev() uint64 {
	n, err := strconv.ParseUint(v.info.Metadata[heldAt], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// old says that an older jetclaw has put it, which did not say as of when it was held.
func (v version) old() bool { return v.info.Metadata[heldAt] == "" }

// held is a description of the same bytes, held as of prev.
func held(info jetstream.ObjectInfo, prev uint64) jetstream.ObjectInfo {
	info.Metadata = maps.Clone(info.Metadata)
	if info.Metadata == nil {
		info.Metadata = map[string]string{}
	}
	info.Metadata[heldAt] = strconv.FormatUint(prev, 10)
	return info
}

// blobTries is how often a description may change while somebody wants to write it.
const blobTries = 8

// errOvertaken says that an object is described anew since it was looked at.
var errOvertaken = errors.New("the object has changed meanwhile")

// blobVersion reads how an object is described now. A description that cannot be read is as good as none.
func (c *Conn) blobVersion(ctx context.Context, name string) (version, error) {
	v := version{name: name}
	m, err := c.request(ctx, "$JS.API.DIRECT.GET."+blobStream+"."+metaSubject(name), nil)
	if err != nil {
		return v, fault.New(fault.Unavailable, "object %s: %w", name, err)
	}
	if m.Header.Get("Status") == "" {
		if v.seq, err = strconv.ParseUint(own(m.Header, jetstream.SequenceHeader), 10, 64); err != nil {
			return v, fault.New(fault.Internal, "object %s: an answer without its sequence: %w", name, err)
		}
		if v.info = described(m.Data); v.there() {
			return v, nil
		}
	}
	last, err := c.leaderGet(ctx, blobStream, leaderRequest{LastFor: metaSubject(name)}) // the copy may lag behind who has put it
	switch {
	case errors.Is(err, ErrNoEvent):
		return version{name: name}, nil
	case err != nil:
		return v, fmt.Errorf("object %s: %w", name, err)
	}
	return version{name: name, seq: last.Seq, info: described(last.Data)}, nil
}

func described(data []byte) (info jetstream.ObjectInfo) {
	if json.Unmarshal(data, &info) != nil {
		return jetstream.ObjectInfo{Deleted: true}
	}
	return info
}

// describe adds a description, which is the one that counts from now on, unless somebody else has. Those before it stay until the purge.
func (c *Conn) describe(ctx context.Context, v version, info jetstream.ObjectInfo) error {
	_, err := c.swap(ctx, v, info)
	return err
}

func (c *Conn) swap(ctx context.Context, v version, info jetstream.ObjectInfo) (seq uint64, err error) {
	meta, err := json.Marshal(info)
	if err != nil {
		return 0, err
	}
	seq, err = c.putObject(ctx, metaSubject(v.name), nats.Header{jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(v.seq, 10)}}, meta)
	if err != nil && !errors.Is(err, errOvertaken) {
		err = fmt.Errorf("object %s: %w", v.name, err)
	}
	return seq, err
}

// holdFiles makes sure that the files which a body names are held for an append at prev: they were put before, and the
// session may have been deleted since. Without a tombstone that is one question.
func (c *Conn) holdFiles(ctx context.Context, s session.ID, body envelope.Body, prev uint64) error {
	files := filesOf(body)
	if len(files) == 0 {
		return nil
	}
	stone, err := c.Journal().lastTombstone(ctx, s)
	if err != nil || stone == 0 {
		return err
	}
	for _, digest := range files {
		if err := c.holdFile(ctx, s, digest, stone, max(stone, prev)); err != nil {
			return err
		}
	}
	return nil
}

// holdFile holds a file as of prev, unless it is held since the tombstone.
func (c *Conn) holdFile(ctx context.Context, s session.ID, digest string, stone, prev uint64) error {
	for range blobTries {
		v, err := c.blobVersion(ctx, blobName(s, digest))
		switch {
		case err != nil:
			return err
		case !v.there():
			return fault.New(fault.Unavailable, "the file %.16s… went with the past of %s, which was deleted meanwhile: send it again", digest, s)
		case v.prev() >= stone:
			return nil
		}
		if err := c.describe(ctx, v, held(v.info, prev)); !errors.Is(err, errOvertaken) {
			return err
		}
	}
	return fault.New(fault.Busy, "object %s: it changed %d times meanwhile; try again", blobName(s, digest), blobTries)
}

// filesOf are the digests of the files that a body names.
func filesOf(body envelope.Body) []string {
	var digests []string
	add := func(digest string) {
		if digest != "" {
			digests = append(digests, digest)
		}
	}
	switch b := body.(type) {
	case messagev1.Received:
		for _, f := range b.Files {
			add(f.Digest)
		}
	case callv1.Completed:
		for _, f := range b.Files {
			add(f.Digest)
		}
	}
	return digests
}

// lastTombstone is the cursor of the session's last tombstone, asked of the stream's leader; 0 when it has none.
func (j *Journal) lastTombstone(ctx context.Context, s session.ID) (uint64, error) {
	stone := envelope.Event{Session: s, Body: turnv1.SessionDeleted{}}
	raw, err := j.c.leaderGet(ctx, subject.Journal, leaderRequest{LastFor: stone.Subject()})
	if errors.Is(err, ErrNoEvent) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("last tombstone of %s: %w", s, err)
	}
	return raw.Seq, nil
}
