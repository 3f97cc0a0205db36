package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/backup"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// restoreElsewhere puts a backup in the place of the journal of a bus elsewhere, which has to be empty, and on which no service may
// run. A cluster that has just been started is waited for, at each step. What one that failed could not remove, the next one replaces;
// until then services find the journal missing, or unfinished.
func (e Env) restoreElsewhere(ctx context.Context, r Restoring) (m backup.Manifest, err error) {
	options := backup.Options{Progress: r.Progress, Wait: r.Patience.Within, Waiting: r.Patience.Tell}
	if m, err = backup.Check(ctx, r.Dir, options); err != nil {
		return m, err
	}
	err = e.WithOwner(ctx, r.To, r.Patience, func(ctx context.Context, admin *bus.Conn) error {
		if err := e.vacant(ctx, admin, r); err != nil {
			return err
		}
		limits := e.limits()
		if limits.Replicas == 0 {
			if limits.Replicas, err = copiesNow(ctx, admin); err != nil {
				return err
			}
		}
		if r.Agree != nil {
			if err := r.Agree(ctx, m); err != nil {
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
		// What was just restored elects its leaders first.
		err := bus.UntilAnswered(settling, copiesTime, func(error) {}, func() error {
			_, err := bus.Apply(settling, admin.JetStream(), topology)
			return err
		})
		if err != nil {
			return fmt.Errorf("the backup is restored; apply the topology: %w", err)
		}
		if err := bus.AwaitSettled(settling, admin.JetStream(), topology, func(int, string) {}); err != nil {
			return fmt.Errorf("the backup is restored: %w; `jetclaw topology apply` waits for them", err)
		}
		return nil
	})
	return m, err
}

// vacant is backup.ErrNotEmpty when the bus elsewhere has events, and errRunning when services wait for some.
func (e Env) vacant(ctx context.Context, admin *bus.Conn, r Restoring) error {
	tell := r.Patience.Tell
	if tell == nil {
		tell = func(error) {}
	}
	err := bus.UntilAnswered(ctx, r.Patience.Within, tell, func() error {
		asking, cancel := context.WithTimeout(ctx, vacantTime)
		defer cancel()
		if err := backup.Empty(asking, admin); err != nil {
			return err
		}
		return deserted(asking, admin, bus.TopologyOf(specs(), e.limits(), executorsOf(e.Config)...))
	})
	if errors.Is(err, backup.ErrNotEmpty) {
		return fmt.Errorf("%s: %w; a backup is restored where there is nothing to lose", e.Or(r.To).URL, err)
	}
	return err
}

// errRunning says that services would take what is restored while it comes.
var errRunning = errors.New("services run on this bus: stop them first")

// deserted is errRunning when somebody waits for doorbells.
func deserted(ctx context.Context, admin *bus.Conn, t bus.Topology) error {
	all, err := bus.Consumers(ctx, admin, t)
	if err != nil {
		return err
	}
	var running []string
	for _, c := range all {
		if c.Waiting > 0 && !slices.Contains(running, c.Service) {
			running = append(running, c.Service)
		}
	}
	if len(running) > 0 {
		return fmt.Errorf("%w (%s)", errRunning, strings.Join(running, ", "))
	}
	return nil
}

const vacantTime = 2 * time.Second // of one question

const copiesTime = 10 * time.Minute

// ErrCopies says that nobody has said how many copies a cluster is to have.
var ErrCopies = errors.New("there is no journal yet, and nobody has said how many copies it is to have: say --replicas 3 (or bus.replicas) for " +
	"a cluster of three servers")

// copiesNow is how many copies the journal has that is there; where there is none, 1 on a server that is alone, and ErrCopies on a cluster:
// what begins with one copy there is not safe, and nothing would tell.
func copiesNow(ctx context.Context, admin *bus.Conn) (int, error) {
	s, err := admin.JetStream().Stream(ctx, subject.Journal)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if admin.NATS().ConnectedClusterName() != "" {
			return 0, ErrCopies
		}
		return 1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look at the journal: %w", err)
	}
	return s.CachedInfo().Config.Replicas, nil
}
