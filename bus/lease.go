package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// A lease is a value that names the process which does something alone: polls a bot, say. Its holder renews it; another takes
// it by compare-and-set when the holder is gone (nobody listens at its worker subject any more) or has let it run out: has not
// renewed it for as long as it lasts, by the clock of who looks. Two processes whose clocks are an hour apart have one holder.
//
// It keeps two processes from doing the same work, not from both believing for a moment that the work is theirs: one that was
// stopped in the middle goes on when it is woken. What is done under a lease has to be safe twice; its context ends as soon as
// the holder knows.

const (
	leaseTTL   = 15 * time.Second
	leaseRenew = 4 * time.Second
	leaseRetry = time.Second
)

// lease is its value.
type lease struct {
	Holder string    `json:"holder"` // instance
	Until  time.Time `json:"until"`  // by the holder's clock: for who reads it
}

// Leases are those of one connection. A service has at most one.
type Leases struct {
	c *Conn

	mu   sync.Mutex
	held map[string]bool // guarded by mu; by key
}

// Leases answers, until ctx ends, that the leases of this connection are held. It returns once that is in force.
func (c *Conn) Leases(ctx context.Context) (*Leases, error) {
	l := &Leases{c: c, held: map[string]bool{}}
	err := c.AnswerWorkers(ctx, func(ref ClaimRef) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.held[string(ref.Session)]
	}, func(ClaimRef) {})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// ErrLeaseLost is the cause of the context of work whose lease somebody else has.
var ErrLeaseLost = errors.New("another process has taken over")

// Hold waits until the lease is this process's, runs fn, and gives it back when fn returns. fn's context ends with ErrLeaseLost
// when the lease is lost; it is then waited for again, and fn is run once more. Hold returns fn's error, or ctx's.
func (l *Leases) Hold(ctx context.Context, key string, fn func(ctx context.Context) error) error {
	for {
		revision, err := l.acquire(ctx, key)
		if err != nil {
			return err
		}
		err = l.work(ctx, key, revision, fn)
		if !errors.Is(err, ErrLeaseLost) || ctx.Err() != nil {
			return err
		}
	}
}

// work runs fn while the lease is renewed.
func (l *Leases) work(ctx context.Context, key string, revision uint64, fn func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	l.set(key, true)
	var keeper sync.WaitGroup
	keeper.Go(func() { revision = l.keep(ctx, cancel, key, revision) })
	err := fn(ctx)
	cancel(errDone)
	keeper.Wait()
	l.set(key, false)
	if errors.Is(context.Cause(ctx), ErrLeaseLost) {
		return ErrLeaseLost
	}
	back, stop := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer stop()
	if _, failed := l.c.ReviseValue(back, key, []byte("{}"), revision); failed != nil { // it runs out by itself
		l.c.log.Debug("lease not given back", "lease", key, "error", failed)
	}
	return err
}

var errDone = errors.New("done")

// acquire returns the revision under which the lease is held.
func (l *Leases) acquire(ctx context.Context, key string) (uint64, error) {
	var seen sighted
	for {
		revision, wait, err := l.try(ctx, key, &seen)
		switch {
		case fault.KindOf(err) == fault.Invalid:
			return 0, err
		case err != nil:
			l.c.log.Warn("lease cannot be taken yet", "lease", key, "error", err)
		case wait == 0:
			return revision, nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("lease %s: %w", key, context.Cause(ctx))
		case <-time.After(max(wait, leaseRetry)):
		}
	}
}

// sighted is since when a lease is seen to be what it is.
type sighted struct {
	revision uint64
	since    time.Time
}

// stale says whether the lease of a revision was not renewed for as long as one lasts.
func (s *sighted) stale(revision uint64) bool {
	if s.since.IsZero() || s.revision != revision {
		*s = sighted{revision: revision, since: time.Now()}
	}
	return time.Since(s.since) > leaseTTL
}

// try takes the lease, or says how long to wait before the next try.
func (l *Leases) try(ctx context.Context, key string, seen *sighted) (revision uint64, wait time.Duration, err error) {
	data, revision, ok, err := l.c.ValueRevision(ctx, key)
	if err != nil {
		return 0, 0, err
	}
	var now lease
	if ok {
		if err := json.Unmarshal(data, &now); err != nil {
			l.c.log.Warn("unreadable lease is taken over", "lease", key, "error", err)
		}
	}
	if now.Holder != "" && now.Holder != l.c.instance && !seen.stale(revision) {
		switch l.c.AskWorker(ctx, now.Holder, ClaimRef{Session: session.ID(key)}) {
		case Absent, Free:
		case Busy, Silent:
			return 0, leaseRetry, nil
		}
	}
	if revision, err = l.put(ctx, key, revision); err != nil {
		return 0, 0, err
	}
	if revision == 0 {
		return 0, leaseRetry, nil
	}
	return revision, 0, nil
}

// put writes the lease for a while from now, if it is still that of a revision; 0 when it is not.
func (l *Leases) put(ctx context.Context, key string, revision uint64) (uint64, error) {
	data, err := json.Marshal(lease{Holder: l.c.instance, Until: time.Now().Add(leaseTTL).UTC().Round(0)})
	if err != nil {
		return 0, err
	}
	return l.c.ReviseValue(ctx, key, data, revision)
}

// mine is the revision of the lease if it is this process's, else 0.
func (l *Leases) mine(ctx context.Context, key string) (uint64, error) {
	data, revision, ok, err := l.c.ValueRevision(ctx, key)
	if err != nil || !ok {
		return 0, err
	}
	var now lease
	if err := json.Unmarshal(data, &now); err != nil {
		return 0, fmt.Errorf("lease %s: %w", key, err)
	}
	if now.Holder != l.c.instance {
		return 0, nil
	}
	return revision, nil
}

// keep renews the lease until ctx ends, or ends ctx when it is lost or could not be renewed in time.
func (l *Leases) keep(ctx context.Context, lost context.CancelCauseFunc, key string, revision uint64) uint64 {
	renewed := time.Now()
	tick := time.NewTicker(leaseRenew)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return revision
		case <-tick.C:
		}
		next, err := l.put(ctx, key, revision)
		if err == nil && next == 0 { // perhaps the renewal before was stored, and its answer lost
			next, err = l.mine(ctx, key)
		}
		switch {
		case ctx.Err() != nil:
			return revision
		case err == nil && next != 0:
			revision, renewed = next, time.Now()
			continue
		}
		if err == nil || time.Since(renewed) > leaseTTL-leaseRenew {
			l.c.log.Warn("lease lost", "lease", key, "error", err)
			lost(ErrLeaseLost)
			return revision
		}
	}
}

func (l *Leases) set(key string, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[key] = held
	if !held {
		maps.DeleteFunc(l.held, func(k string, _ bool) bool { return k == key })
	}
}
