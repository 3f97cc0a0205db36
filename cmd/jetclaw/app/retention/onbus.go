package retention

import (
	"context"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
)

// OnBus reads and asks over one connection, and purges over that of the topology's owner. They may be the same.
func OnBus(c, owner *bus.Conn) SingleBus { return onBus{c, owner} }

type onBus struct{ conn, owner *bus.Conn }

func (b onBus) Replay(ctx context.Context, o bus.ReplayOptions, fn func(envelope.Event) error) error {
	return b.conn.Replay(ctx, o, fn)
}

func (b onBus) Get(ctx context.Context, cursor uint64) (envelope.Event, error) {
	return b.conn.Journal().Get(ctx, cursor)
}

func (b onBus) History(ctx context.Context, s session.ID) ([]envelope.Event, error) {
	return b.conn.History(ctx, s, 0)
}

func (b onBus) File(ctx context.Context, s session.ID, digest string) ([]byte, error) {
	return b.conn.GetFile(ctx, s, digest)
}

func (b onBus) Size(ctx context.Context) (int64, error) {
	u, err := b.conn.Journal().Usage(ctx)
	return int64(u.Bytes), err
}

func (b onBus) Delete(ctx context.Context, s session.ID, cursor uint64, reason turnv1.SessionDeleted) (uint64, error) {
	d, err := bus.Ask[turns.Deleted](ctx, b.conn, "turns", "delete", turns.DeleteRequest{Session: string(s), Cursor: cursor, Reason: reason})
	return d.Cursor, err
}

func (b onBus) Purge(ctx context.Context, s session.ID, tombstone uint64) (uint64, error) {
	return bus.PurgeSession(ctx, b.owner, s, tombstone)
}
