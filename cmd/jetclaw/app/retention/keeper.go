package retention

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// When the daemon looks for sessions that are to go: not while it is starting, then seldom, as it reads the whole journal.
const (
	firstLook = 5 * time.Minute
	lookAgain = 6 * time.Hour
)

// KeeperConfig is what the daemon's own retention needs. Pruner and Log are required.
type KeeperConfig struct {
	Pruner *Pruner
	Log    *slog.Logger
	After  func(time.Duration) <-chan time.Time // nil: time.After
}

// Keeper prunes from time to time, as a service.
type Keeper struct {
	KeeperConfig
	unsure bool // an earlier run of this journal may not have come to its end
}

// NewKeeper makes a keeper; Run starts it.
func NewKeeper(c KeeperConfig) (*Keeper, error) {
	switch {
	case c.Pruner == nil:
		return nil, errors.New("the keeper of retention needs a pruner")
	case c.Log == nil:
		return nil, errors.New("the keeper of retention needs a logger")
	}
	if c.After == nil {
		c.After = time.After
	}
	return &Keeper{KeeperConfig: c, unsure: true}, nil
}

// Ready returns at once.
func (k *Keeper) Ready(context.Context) error { return nil }

// Run prunes until ctx ends. A run that fails is logged, and made again when the next one is due.
func (k *Keeper) Run(ctx context.Context) error {
	if k.Pruner.Policy.Off() {
		<-ctx.Done()
		return nil
	}
	for wait := firstLook; ; wait = lookAgain {
		select {
		case <-ctx.Done():
			return nil
		case <-k.After(wait):
		}
		if err := k.look(ctx); err != nil && ctx.Err() == nil {
			k.unsure = true
			k.Log.Warn("retention did not come to its end; the next run goes on", "error", err)
		}
	}
}

func (k *Keeper) look(ctx context.Context) error {
	p := k.Pruner
	if p.Policy.Dormant <= 0 && !k.unsure { // whether the journal is too large can be known without reading it
		if size, err := p.Bus.Size(ctx); err != nil || size <= p.Policy.MaxBytes {
			return err
		}
	}
	plan, err := p.Plan(ctx)
	if err != nil {
		return err
	}
	for _, kept := range plan.Kept {
		k.Log.Info("a dormant session is kept", "session", kept.Session, "why", kept.Why)
	}
	sessions, events := 0, 0
	err = p.Prune(ctx, plan, func(r Result) {
		switch {
		case r.Skipped != "":
			k.Log.Info("a dormant session is kept", "session", r.Session, "why", r.Skipped)
			return
		case r.Again:
			k.Log.Info("a deleted session is purged", "session", r.Session, "events", r.Events)
		default:
			k.Log.Info("a dormant session is archived", "session", r.Session, "events", r.Events, "archive", r.Archive)
		}
		sessions, events = sessions+1, events+r.Events
	})
	if sessions > 0 {
		k.Log.Info("retention", "sessions", sessions, "events", events, "folder", p.Archive)
	}
	k.unsure = err != nil
	return err
}
