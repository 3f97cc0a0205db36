package actor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/lru"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Options of an actor. The zero value takes the defaults.
type Options struct {
	Drain         time.Duration // how long running effects may go on after Run's context has ended; 10 s
	Cache         lru.Limits    // of the folds kept in memory; DefaultCache
	SnapshotEvery int           // events of a session between two snapshots; 32
}

func (o Options) withDefaults() Options {
	if o.Drain == 0 {
		o.Drain = 10 * time.Second
	}
	if o.Cache == (lru.Limits{}) {
		o.Cache = DefaultCache()
	}
	if o.SnapshotEvery == 0 {
		o.SnapshotEvery = 32
	}
	return o
}

// shell runs one machine for all sessions whose bells reach this process; see Actor.
type shell[S any] struct {
	m     Machine[S]
	spec  bus.Spec
	p     Ports
	o     Options
	log   *slog.Logger
	folds *folds[S]
	peers *peers
	saver *saver[S]

	ready chan struct{} // closed once bells are consumed

	mu          sync.Mutex
	crews       map[session.ID]*crew[S] // guarded by mu; a lane leaves in the same hold in which it finds no mail
	quarantined map[session.ID]string   // guarded by mu; sessions whose machine panicked, and why
	failures    map[laneID]int          // guarded by mu; failed runs in a row: a part that fails is not excused by the others
	closed      bool                    // guarded by mu; no lane starts any more
	running     sync.WaitGroup          // lanes and what they left behind
}

func newShell[S any](m Machine[S], p Ports, spec bus.Spec, o Options) (*shell[S], error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	if spec.Name != m.Service {
		return nil, fmt.Errorf("the machine of %q on the spec of %q", m.Service, spec.Name)
	}
	o = o.withDefaults()
	p.Hooks = p.Hooks.OrSilent()
	a := &shell[S]{
		m: m, spec: spec, p: p, o: o, log: p.Log,
		folds:       newFolds(p, m.Version, m.Apply, o.Cache),
		peers:       newPeers(p.Peers),
		ready:       make(chan struct{}),
		crews:       make(map[session.ID]*crew[S]),
		quarantined: make(map[session.ID]string),
		failures:    make(map[laneID]int),
	}
	a.saver = newSaver(a.folds, p.Log, p.Seams)
	return a, nil
}

// Ready returns once the actor consumes its bells, or with ctx's error.
func (a *shell[S]) Ready(ctx context.Context) error {
	select {
	case <-a.ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s is not ready: %w", a.m.Service, context.Cause(ctx))
	}
}

// Run consumes bells until ctx ends; then running effects may finish within Options.Drain, the rest is handed back, and
// Run returns when no goroutine of the actor is left. It may be called once.
func (a *shell[S]) Run(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	ring := func(b bus.Bell) { a.ring(work, ctx.Done(), b) }

	answering, stopAnswering := context.WithCancel(work)
	defer stopAnswering()
	if err := a.p.Peers.AnswerWorkers(answering, a.busy, a.nudge); err != nil {
		return fmt.Errorf("%s: answer other workers: %w", a.m.Service, err)
	}
	saving := a.saver.start(work)
	again := func(b bus.Bell, after time.Duration) {
		a.running.Go(func() { // its caller is a lane, so that Run still waits
			if ctx.Err() != nil {
				return // or chance would decide, when it is to ring at once
			}
			select {
			case <-time.After(after):
				a.p.Seams.turn(Goroutine{Kind: "echo", Session: b.Event().Session, Cursor: b.Event().Cursor})
				ring(b)
			case <-ctx.Done():
			}
		})
	}
	sooner := func() {
		backlog, err := a.p.Bells.Backlog(ctx, a.spec, a.parts())
		if err != nil && ctx.Err() == nil { // it would only have been sooner
			a.log.Warn("what a dead worker holds comes when its time is over", "error", err)
		}
		for _, ev := range backlog {
			ring(NewEcho(ev, again))
		}
	}
	sooner()
	if a.p.Seams.Now == nil { // a simulation steps its clock as it likes, and knows why
		a.running.Go(func() {
			watchClock(ctx, time.Now, func(by time.Duration) {
				a.log.Warn("the clock was set back: what is open is looked at again", "by", by.Round(time.Second))
				sooner()
			})
		})
	}
	close(a.ready)
	err := a.p.Bells.Doorbells(ctx, a.spec, ring)

	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	limit := time.AfterFunc(a.o.Drain, func() { stop(errDrained) })
	a.running.Wait()
	limit.Stop()
	stop(nil)
	saving.Wait()
	if err != nil {
		return fmt.Errorf("%s: %w", a.m.Service, err)
	}
	return nil
}

var errDrained = errors.New("the time for running work to end is over")

// failed counts a run of a lane that ended in trouble of its own (not of the infrastructure).
func (a *shell[S]) failed(id laneID) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failures[id]++
	return a.failures[id]
}

func (a *shell[S]) succeeded(id laneID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.failures) > 0 {
		delete(a.failures, id)
	}
}

func (a *shell[S]) quarantine(s session.ID, why string) {
	a.log.Error("session quarantined: its bells go to the dead letters", "session", s, "reason", why)
	a.p.Hooks.Poisoned()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.quarantined[s] = why
}

// whyQuarantined is why the session's bells are given up; "" when they are not.
func (a *shell[S]) whyQuarantined(s session.ID) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.quarantined[s]
}

// settled logs a bell that could not be acked, nak'ed or given up: it comes again by itself.
func (a *shell[S]) settled(s session.ID, err error) {
	if err != nil {
		a.log.Debug("bell not settled; it will come again", "session", s, "error", err)
	}
}
