package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/backup"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// restoreElsewhere puts a backup in the place of the journal of a bus elsewhere, which has to be empty, and on which no service may
// run. One that was interrupted is repeated; until then services find the journal missing, or unfinished.
func (e Env) restoreElsewhere(ctx context.Context, r Restoring) (m backup.Manifest, err error) {
	options := backup.Options{Progress: r.Progress}
	if m, err = backup.Check(ctx, r.Dir, options); err != nil {
		return m, err
	}
	err = e.WithOwner(ctx, r.To, func(ctx context.Context, admin *bus.Conn) error {
		if err := backup.Empty(ctx, admin); err != nil {
			return fmt.Errorf("%s: %w; a backup is restored where there is nothing to lose", r.To.URL, err)
		}
		if r.Agree != nil {
			if err := r.Agree(ctx, m); err != nil {
				return err
			}
		}
		limits := e.limits()
		if limits.Replicas == 0 {
			if limits.Replicas, err = copiesNow(ctx, admin); err != nil {
				return err
			}
		}
		options.Replicas = limits.Replicas
		if _, err := backup.Restore(ctx, admin, r.Dir, options); err != nil {
			return err
		}
		topology := bus.TopologyOf(specs(), limits, executorsOf(e.Config)...)
		settling, cancel := context.WithTimeoutCause(ctx, copiesTime, fmt.Errorf("not within %s", copiesTime))
		defer cancel()
		for {
			_, err := bus.Apply(settling, admin.JetStream(), topology)
			if err == nil {
				break
			}
			if !errors.Is(err, context.DeadlineExceeded) || settling.Err() != nil { // what was just restored elects its leaders first
				return fmt.Errorf("the backup is restored; apply the topology: %w", err)
			}
		}
		if err := bus.AwaitSettled(settling, admin.JetStream(), topology, func(int, string) {}); err != nil {
			return fmt.Errorf("the backup is restored: %w; `jetclaw topology apply` waits for them", err)
		}
		return nil
	})
	return m, err
}

const copiesTime = 10 * time.Minute

// copiesNow is how many copies the journal has that is there, 1 where there is none.
func copiesNow(ctx context.Context, admin *bus.Conn) (int, error) {
	s, err := admin.JetStream().Stream(ctx, subject.Journal)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look at the journal: %w", err)
	}
	return s.CachedInfo().Config.Replicas, nil
}
