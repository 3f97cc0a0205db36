package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Snapshot is a folded state of one session as one service keeps it. It saves a walk over the journal and may be lost,
// late or of another version at any time.
type Snapshot struct {
	Version string          `json:"version"` // of the fold that made it
	Cursor  uint64          `json:"cursor"`  // last event that it includes
	Event   string          `json:"event"`   // its id: a journal that has lost its end uses cursors again
	State   json.RawMessage `json:"state"`
}

const snapshotTimeout = 5 * time.Second

func (c *Conn) snapshotSubject(s session.ID) string { return snapshotOf(c.service, s) }

func snapshotOf(service string, s session.ID) string {
	return "$KV." + subject.Snap + "." + service + "." + string(s)
}

// LoadSnapshot reads the service's snapshot of a session; ok is false when there is none.
func (c *Conn) LoadSnapshot(ctx context.Context, s session.ID) (snap Snapshot, ok bool, err error) {
	return c.SnapshotOf(ctx, c.service, s)
}

// SnapshotOf is LoadSnapshot for the user Admin, of any service.
func (c *Conn) SnapshotOf(ctx context.Context, service string, s session.ID) (snap Snapshot, ok bool, err error) {
	at := snapshotOf(service, s)
	m, err := c.request(ctx, "$JS.API.DIRECT.GET.KV_"+subject.Snap+"."+at, nil)
	if err != nil {
		return Snapshot{}, false, fault.New(fault.Unavailable, "snapshot of %s: %w", s, err)
	}
	if m.Header.Get("Status") != "" || m.Header.Get("KV-Operation") != "" {
		return Snapshot{}, false, nil
	}
	if copiedAnswer(m.Header, at) {
		c.log.Warn("snapshot ignored", "session", s, "error", errCopied)
		return Snapshot{}, false, nil
	}
	if err := json.Unmarshal(m.Data, &snap); err != nil {
		c.log.Warn("unreadable snapshot ignored", "session", s, "error", err)
		return Snapshot{}, false, nil
	}
	return snap, true, nil
}

// SaveSnapshot replaces the service's snapshot of a session. One that is too large for a message is not kept.
func (c *Conn) SaveSnapshot(ctx context.Context, s session.ID, snap Snapshot) error {
	data, err := json.Marshal(snap)
	if err != nil {
		return fmt.Errorf("snapshot of %s: %w", s, err)
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	_, err = c.js.PublishMsg(ctx, &nats.Msg{Subject: c.snapshotSubject(s), Data: data})
	if errors.Is(err, nats.ErrMaxPayload) {
		c.log.Debug("snapshot not kept", "session", s, "bytes", len(data))
		return nil
	}
	if err != nil {
		return fmt.Errorf("snapshot of %s: %w", s, err)
	}
	return nil
}

// DropSnapshot removes the service's snapshot of a session.
func (c *Conn) DropSnapshot(ctx context.Context, s session.ID) error {
	m := &nats.Msg{Subject: c.snapshotSubject(s), Header: nats.Header{"KV-Operation": {"DEL"}}}
	if _, err := c.js.PublishMsg(ctx, m); err != nil {
		return fmt.Errorf("drop snapshot of %s: %w", s, err)
	}
	return nil
}
