package bus

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// tombstone is the kind of the event below which a session may be purged.
const tombstone = "session.deleted"

// PurgeSession takes away, as the user Admin, what a deleted session had: all services' snapshots and timers of it, its
// bodies and files in the object store, and last its events below the cursor of its tombstone, which stays and is where its
// chain begins from now on. It returns how many events went. It may be repeated after a failure: while events are left
// below a tombstone, more may be. What a message above the tombstone names stays, see version.
func PurgeSession(ctx context.Context, admin *Conn, s session.ID, below uint64) (events uint64, err error) {
	ev, err := admin.Journal().Get(ctx, below)
	switch {
	case err != nil:
		return 0, fmt.Errorf("purge %s below %d: %w", s, below, err)
	case ev.Session != s || ev.Kind() != tombstone:
		return 0, fault.New(fault.Invalid, "purge %s below %d: that is %s of %s, not its tombstone; the chain would be broken",
			s, below, ev.Type(), ev.Session)
	}
	for _, rest := range []struct{ what, stream, filter string }{
		{"snapshots", "KV_" + subject.Snap, "$KV." + subject.Snap + ".*." + string(s)},
		{"timers", subject.Timers, subject.Schedule("*", s)},
		{"rings", subject.Timers, subject.Timer("*", s)},
	} {
		if _, err := admin.purge(ctx, rest.stream, rest.filter, 0); err != nil {
			return 0, fmt.Errorf("purge the %s of %s: %w", rest.what, s, err)
		}
	}
	if err := admin.purgeBlobs(ctx, s, below); err != nil {
		return 0, fmt.Errorf("purge the bodies of %s: %w", s, err)
	}
	if events, err = admin.purge(ctx, subject.Journal, subject.OfSession(s), below); err != nil {
		return events, fmt.Errorf("purge the events of %s: %w", s, err)
	}
	return events, nil
}

// purge removes the messages of a filter from a stream, below a sequence or, with 0, all.
func (c *Conn) purge(ctx context.Context, stream, filter string, below uint64) (uint64, error) {
	var resp struct {
		Purged uint64              `json:"purged"`
		Error  *jetstream.APIError `json:"error"`
	}
	req := struct {
		Filter string `json:"filter"`
		Below  uint64 `json:"seq,omitempty"`
	}{filter, below}
	if err := c.command(ctx, "STREAM.PURGE."+stream, req, &resp); err != nil {
		return 0, err
	}
	if resp.Error != nil {
		return 0, fault.New(fault.Unavailable, "%w", resp.Error)
	}
	return resp.Purged, nil
}

// deleteMessage removes one message of a stream, and with erase overwrites it on the disk. there is false when there was none.
func (c *Conn) deleteMessage(ctx context.Context, stream string, seq uint64, erase bool) (there bool, err error) {
	var resp struct {
		Error *jetstream.APIError `json:"error"`
	}
	req := struct {
		Seq     uint64 `json:"seq"`
		NoErase bool   `json:"no_erase"`
	}{seq, !erase}
	if err := c.command(ctx, "STREAM.MSG.DELETE."+stream, req, &resp); err != nil {
		return false, fmt.Errorf("delete message %d of %s: %w", seq, stream, err)
	}
	switch {
	case resp.Error != nil && notThere(resp.Error):
		return false, nil
	case resp.Error != nil:
		return false, fault.New(fault.Unavailable, "delete message %d of %s: %w", seq, stream, resp.Error)
	}
	return true, nil
}

// Server error codes for a message that is not there.
const (
	codeNoSequence jetstream.ErrorCode = 10043
	codeNoMessage  jetstream.ErrorCode = 10057
)

// notThere says whether a message could not be deleted because there is none. The store's own errors come as texts.
func notThere(err *jetstream.APIError) bool {
	return err.ErrorCode == codeNoSequence || err.ErrorCode == codeNoMessage ||
		strings.Contains(err.Description, "no message found") || strings.Contains(err.Description, "stream store EOF")
}
