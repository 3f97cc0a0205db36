package approvals

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// ownersEvery is how often it is looked who is an owner: news of it is lossy.
const ownersEvery = 10 * time.Second

// owners are who may decide: those of the configuration, and those who were made owners when they were let in.
type owners struct {
	conn   *bus.Conn
	folder *actor.Folder[accessv1.Owners] // nil: the configuration names the approvers, and nobody joins them
	log    *slog.Logger
	base   []string
	all    atomic.Pointer[[]string]
}

func newOwners(c *bus.Conn, log *slog.Logger, base []string, join bool) *owners {
	o := &owners{conn: c, log: log, base: slices.Clone(base)}
	if join {
		o.folder = actor.NewFolder(c, bus.Spec{Name: Spec().Name}, "1", accessv1.Owners.Apply)
	}
	o.all.Store(&o.base)
	return o
}

func (o *owners) now() []string { return *o.all.Load() }

// keep follows who is an owner until ctx ends. ready is closed after the first look.
func (o *owners) keep(ctx context.Context, ready chan<- struct{}) error {
	if o.folder == nil {
		close(ready)
		return nil
	}
	news := make(chan struct{}, 1)
	kinds := []string{kind(accessv1.Granted{}), kind(accessv1.Revoked{})}
	if err := o.conn.Watch(ctx, kinds, func(envelope.Event) {
		select {
		case news <- struct{}{}:
		default:
		}
	}); err != nil {
		return err
	}
	o.look(ctx)
	close(ready)
	tick := time.NewTicker(ownersEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-news:
		case <-tick.C:
		}
		o.look(ctx)
	}
}

// look reads who is an owner. When that fails it stays as it was: whoever was sent away meanwhile decides nothing for longer than
// the bus is away, as no decision is stored without it.
func (o *owners) look(ctx context.Context) {
	joined, _, err := o.folder.Fold(ctx, accessv1.Session, 0)
	if err != nil {
		if ctx.Err() == nil {
			o.log.Warn("who was made an owner cannot be read", "error", err)
		}
		return
	}
	all := slices.Clone(o.base)
	for _, who := range joined {
		if !slices.Contains(all, who) {
			all = append(all, who)
		}
	}
	o.all.Store(&all)
}
