package bus

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// purgeBlobs takes away the objects of a session that were last held below its tombstone. When it dies in the middle, what
// is left of an object is found by its description, which goes last.
func (c *Conn) purgeBlobs(ctx context.Context, s session.ID, below uint64) error {
	all, err := c.blobsOf(ctx, s)
	if err != nil {
		return err
	}
	named, err := c.namedAbove(ctx, s, below, all)
	if err != nil {
		return err
	}
	for _, v := range all {
		if named[strings.TrimPrefix(v.name, blobName(s, ""))] {
			continue
		}
		if err := c.purgeBlob(ctx, v, below); err != nil {
			return err
		}
	}
	return nil
}

// purgeBlob takes an object away as it was looked at. One that is held since then stays.
func (c *Conn) purgeBlob(ctx context.Context, v version, below uint64) error {
	if v.there() {
		if v.prev() >= below {
			return nil
		}
		gone := v.info
		gone.Deleted, gone.Size, gone.Chunks, gone.Digest = true, 0, 0, ""
		seq, err := c.swap(ctx, v, gone)
		if errors.Is(err, errOvertaken) {
			return nil
		}
		if err != nil {
			return err
		}
		v.seq, v.info = seq, gone
	}
	if isToken(v.info.NUID) { // else it would be a filter, for what others have
		if _, err := c.purge(ctx, blobStream, chunkPrefix+v.info.NUID, 0); err != nil {
			return fmt.Errorf("object %s: %w", v.name, err)
		}
	}
	if _, err := c.purge(ctx, blobStream, metaSubject(v.name), v.seq); err != nil {
		return fmt.Errorf("object %s: %w", v.name, err)
	}
	_, err := c.deleteMessage(ctx, blobStream, v.seq, true) // that it has gone already is as good
	return err
}

// isToken says whether a name stands for itself as the last token of a subject: any service may write a description.
func isToken(name string) bool { return name != "" && !strings.ContainsAny(name, ".*> \t\r\n") }

// blobsOf are the objects of a session as they are described now. Their subjects do not begin with the session: the names
// of all objects are looked through.
func (c *Conn) blobsOf(ctx context.Context, s session.ID) (found []version, err error) {
	for offset := 0; ; {
		var resp struct {
			Total int                    `json:"total"`
			State *jetstream.StreamState `json:"state"`
			Error *jetstream.APIError    `json:"error"`
		}
		req := struct {
			Filter string `json:"subjects_filter"`
			Offset int    `json:"offset,omitempty"`
		}{metaPrefix + ">", offset}
		if err := c.api(ctx, "STREAM.INFO."+blobStream, req, &resp); err != nil {
			return nil, err
		}
		if resp.Error != nil {
			return nil, fault.New(fault.Unavailable, "list %s: %w", blobStream, resp.Error)
		}
		if resp.State == nil || len(resp.State.Subjects) == 0 {
			return found, nil
		}
		for subj := range resp.State.Subjects {
			name, err := base64.URLEncoding.DecodeString(strings.TrimPrefix(subj, metaPrefix))
			if err != nil || !strings.HasPrefix(string(name), blobName(s, "")) {
				continue
			}
			v, err := c.blobVersion(ctx, string(name))
			if err != nil {
				return nil, err
			}
			if v.seq != 0 {
				found = append(found, v)
			}
		}
		if offset += len(resp.State.Subjects); offset >= resp.Total {
			return found, nil
		}
	}
}

// namedAbove are the digests that events above a tombstone name, if one of the objects does not say as of when it is held.
func (c *Conn) namedAbove(ctx context.Context, s session.ID, below uint64, all []version) (map[string]bool, error) {
	old := false
	for _, v := range all {
		old = old || v.there() && v.old()
	}
	if !old {
		return nil, nil //nolint:nilnil // nobody has to be asked
	}
	j := c.Journal()
	at, err := j.Last(ctx, s)
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for at > below {
		_, h, _, err := j.read(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("read event %d: %w", at, err)
		}
		ev, err := j.Get(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("read event %d: %w", at, err)
		}
		if digest := h.Get(envelope.HeaderBlob); digest != "" {
			named[digest] = true
		}
		for _, digest := range filesOf(ev.Body) {
			named[digest] = true
		}
		if at, err = j.Before(ctx, s, at); err != nil {
			return nil, err
		}
	}
	return named, nil
}
