package actortest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// worker is one incarnation of one process, seen from its ports.
type worker struct {
	w        *World
	instance string
	kill     context.CancelFunc
	dead     atomic.Bool
	cutUntil atomic.Int64   // unix nanoseconds: nobody gets an answer before
	ring     func(bus.Bell) // guarded by w.mu
	ids      atomic.Int64

	mu     sync.Mutex
	busy   func(bus.ClaimRef) bool // guarded by mu
	nudged func(bus.ClaimRef)      // guarded by mu
}

var errDead = errors.New("this worker is dead")

func (k *worker) ports() actor.Ports {
	return actor.Ports{Journal: k, Bells: k, Peers: k, Snapshots: k, Timers: k, Instance: k.instance, Log: k.w.log}
}

// die ends the incarnation: whatever it still does changes nothing any more.
func (k *worker) die() error {
	k.dead.Store(true)
	k.kill()
	return errDead
}

// step is one operation at the border of the process, with what may happen to it.
func (k *worker) step(ctx context.Context, op func() error) error {
	if k.dead.Load() {
		return errDead
	}
	f := k.w.tape.trouble()
	switch f {
	case delayed:
		k.w.pause(ctx, k.w.tape.draw())
	case notDone:
		return errTimeout
	case crashHere:
		return k.die()
	case cutOff:
		k.cutUntil.Store(time.Now().Add(time.Duration(k.w.tape.draw()) * 100 * time.Millisecond).UnixNano())
	case none, lostAck, bareLoss, crashDone:
	}
	if k.dead.Load() {
		return errDead
	}
	err := op()
	switch {
	case f == crashDone:
		return k.die()
	case f == lostAck && err == nil:
		return errTimeout
	}
	return err
}

func (k *worker) Stamp(e *envelope.Event) {
	if e.ID == "" {
		e.ID = fmt.Sprintf("%s-%d", k.instance, k.ids.Add(1))
	}
	e.Source = k.w.spec.Name + "/" + k.instance
	e.Time = time.Now().UTC().Round(0)
}

func (k *worker) Append(ctx context.Context, e envelope.Event) (cursor uint64, err error) {
	k.w.pause(ctx, k.w.tape.draw())
	if k.w.tape.draw() > 250 {
		return 0, &bus.Conflict{}
	}
	err = k.step(ctx, func() (err error) { cursor, err = k.w.store(e); return err })
	return cursor, err
}

func (k *worker) Get(ctx context.Context, cursor uint64) (ev envelope.Event, err error) {
	err = k.step(ctx, func() error {
		k.w.mu.Lock()
		defer k.w.mu.Unlock()
		if cursor == 0 || cursor > uint64(len(k.w.events)) {
			return bus.ErrNoEvent
		}
		ev = k.w.events[cursor-1]
		return nil
	})
	return ev, err
}

func (k *worker) Last(ctx context.Context, s session.ID) (last uint64, err error) {
	err = k.step(ctx, func() error {
		k.w.mu.Lock()
		defer k.w.mu.Unlock()
		last = k.w.last[s]
		return nil
	})
	return last, err
}

func (k *worker) LoadSnapshot(ctx context.Context, s session.ID) (snap bus.Snapshot, ok bool, err error) {
	err = k.step(ctx, func() error {
		k.w.mu.Lock()
		defer k.w.mu.Unlock()
		snap, ok = k.w.snaps[s]
		return nil
	})
	return snap, ok, err
}

func (k *worker) SaveSnapshot(ctx context.Context, s session.ID, snap bus.Snapshot) error {
	return k.step(ctx, func() error {
		k.w.mu.Lock()
		defer k.w.mu.Unlock()
		k.w.snaps[s] = snap // also an older one over a newer one
		return nil
	})
}

func (k *worker) DropSnapshot(_ context.Context, s session.ID) error {
	k.w.mu.Lock()
	defer k.w.mu.Unlock()
	delete(k.w.snaps, s)
	return nil
}

func (k *worker) Doorbells(ctx context.Context, _ bus.Spec, ring func(bus.Bell)) error {
	k.w.mu.Lock()
	k.ring = ring
	k.w.mu.Unlock()
	<-ctx.Done()
	k.w.mu.Lock()
	k.ring = nil
	k.w.mu.Unlock()
	return nil
}

func (k *worker) Backlog(context.Context, bus.Spec) ([]envelope.Event, error) {
	return k.w.backlog(), nil
}

// SetTimer stores a bell without an event's cursor, as a timer rings.
func (k *worker) SetTimer(ctx context.Context, s session.ID, at time.Time) error {
	return k.step(ctx, func() error {
		k.w.mu.Lock()
		defer k.w.mu.Unlock()
		k.w.bellSeq++
		p := &pending{seq: k.w.bellSeq, event: envelope.Event{Session: s}}
		k.w.bells[p.seq] = p
		k.w.schedule(p, time.Until(at))
		return nil
	})
}

func (k *worker) AskWorker(ctx context.Context, instance string, ref bus.ClaimRef) bus.Answer {
	k.w.pause(ctx, k.w.tape.draw())
	other := k.w.alive(instance)
	if other == nil {
		return bus.Absent
	}
	if k.cut() || other.cut() || k.w.tape.draw() > 240 {
		return bus.Silent
	}
	other.mu.Lock()
	busy := other.busy
	other.mu.Unlock()
	if busy == nil {
		return bus.Absent
	}
	a := bus.Free
	if busy(ref) {
		a = bus.Busy
	}
	k.w.pause(ctx, k.w.tape.draw()) // the answer may be stale when it arrives
	return a
}

func (k *worker) cut() bool { return time.Now().UnixNano() < k.cutUntil.Load() }

func (k *worker) Nudge(instance string, ref bus.ClaimRef) error {
	other := k.w.alive(instance)
	if other == nil || k.cut() || other.cut() || k.w.tape.draw() > 200 {
		return nil
	}
	other.mu.Lock()
	nudge := other.nudged
	other.mu.Unlock()
	if nudge != nil {
		nudge(ref)
	}
	return nil
}

func (k *worker) AnswerWorkers(_ context.Context, busy func(bus.ClaimRef) bool, nudge func(bus.ClaimRef)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.busy, k.nudged = busy, nudge
	return nil
}
