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
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// worker is one incarnation of one process, seen from its ports.
type worker struct {
	w        *World
	instance string
	cancel   context.CancelFunc // of its Run
	asked    atomic.Int64       // unix nanoseconds: when it was asked to stop; 0: not yet
	dead     atomic.Bool        // killed: whatever it still does changes nothing any more
	ended    atomic.Bool        // its Run has returned
	cutUntil atomic.Int64       // unix nanoseconds: nobody gets an answer before
	ring     func(bus.Bell)     // guarded by w.mu
	ringing  sync.WaitGroup     // calls of ring
	ids      atomic.Int64

	mu     sync.Mutex
	busy   func(bus.ClaimRef) bool // guarded by mu
	nudged func(bus.ClaimRef)      // guarded by mu
}

var (
	errDead = errors.New("this worker is dead")
	errAway = fault.New(fault.Unavailable, "no server")
)

func (k *worker) ports() actor.Ports {
	return actor.Ports{Journal: k, Bells: k, Peers: k, Snapshots: k, Timers: k, Instance: k.instance, Log: k.w.log}
}

// stop asks it to stop, as SIGTERM does.
func (k *worker) stop() {
	k.asked.CompareAndSwap(0, time.Now().UnixNano())
	k.cancel()
}

// die ends the incarnation.
func (k *worker) die() error {
	k.dead.Store(true)
	k.stop()
	return errDead
}

// step is one operation at the border of the process, with what may happen to it.
func (k *worker) step(ctx context.Context, op func() error) error {
	switch {
	case k.dead.Load():
		return errDead
	case ctx.Err() != nil:
		return ctx.Err()
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
	case stopped: // the process stands still
		d := time.Duration(k.w.tape.draw()) * 100 * time.Millisecond
		k.cutUntil.Store(time.Now().Add(d).UnixNano())
		k.w.sleep(context.WithoutCancel(ctx), d)
	case asked:
		k.stop()
	case full:
		k.w.Fill(time.Duration(k.w.tape.draw()) * 300 * time.Millisecond)
	case away:
		k.w.Down(time.Duration(k.w.tape.draw()) * 100 * time.Millisecond)
	case late: // the caller gives up, and then it happens
		d := time.Duration(k.w.tape.draw()) * 20 * time.Millisecond
		k.w.mu.Lock()
		k.w.coming++
		k.w.mu.Unlock()
		go k.w.arrive(d, func() { _ = op() }) // nobody waits for what becomes of it
		return errTimeout
	case none, lostAck, crashDone:
	}
	if k.dead.Load() {
		return errDead
	}
	if k.w.isDown() {
		return errAway
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
	k.w.sleep(ctx, time.Duration(k.w.slow.Load()))
	if k.w.tape.draw() > 250 {
		return 0, &bus.Conflict{}
	}
	var got uint64
	err = k.step(ctx, func() (err error) {
		if c := k.w.behind(e.Session); c != nil {
			return c
		}
		got, err = k.w.store(e)
		return err
	})
	if d := k.w.holdAck.Swap(0); d > 0 {
		time.Sleep(time.Duration(d))
	}
	if _, ok := errors.AsType[*bus.Conflict](err); ok {
		k.w.conflicts.Add(1)
	}
	if err == nil && k.w.loseAcks.Add(-1) >= 0 {
		err = errTimeout
	}
	if err != nil {
		return 0, err
	}
	return got, nil
}

// behind is what a leader that lags says to an append: it does not know the session's last event yet.
func (w *World) behind(s session.ID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.last[s]
	if last == 0 || !time.Now().Before(w.lagUntil) {
		return nil
	}
	return &bus.Conflict{Last: w.events[last-1].Prev, Known: true}
}

func (k *worker) Get(ctx context.Context, cursor uint64) (ev envelope.Event, err error) {
	var got envelope.Event // not ev: a late answer must not be seen
	err = k.step(ctx, func() error {
		k.w.mu.Lock()
		defer k.w.mu.Unlock()
		if cursor == 0 || cursor > uint64(len(k.w.events)) || k.w.purged[cursor] {
			return bus.ErrNoEvent
		}
		got = k.w.events[cursor-1]
		return nil
	})
	if err != nil {
		return envelope.Event{}, err
	}
	return got, nil
}

func (k *worker) Last(ctx context.Context, s session.ID) (last uint64, err error) {
	var got uint64
	err = k.step(ctx, func() error {
		k.w.mu.Lock()
		defer k.w.mu.Unlock()
		got = k.w.last[s]
		return nil
	})
	if err != nil {
		return 0, err
	}
	return got, nil
}

func (k *worker) LoadSnapshot(ctx context.Context, s session.ID) (snap bus.Snapshot, ok bool, err error) {
	var got *bus.Snapshot
	err = k.step(ctx, func() error {
		k.w.mu.Lock()
		defer k.w.mu.Unlock()
		if snap, ok := k.w.snaps[s]; ok {
			got = &snap
		}
		return nil
	})
	if err != nil || got == nil {
		return bus.Snapshot{}, false, err
	}
	return *got, true, nil
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
	k.ringing.Wait()
	return nil
}

func (k *worker) Backlog(_ context.Context, _ bus.Spec, part func(envelope.Event) string) ([]envelope.Event, error) {
	return k.w.backlog(part), nil
}

// SetTimer replaces the session's timer.
func (k *worker) SetTimer(ctx context.Context, s session.ID, at time.Time) error {
	return k.step(ctx, func() error {
		k.w.mu.Lock()
		defer k.w.mu.Unlock()
		k.w.setTimer(s, at)
		return nil
	})
}

func (k *worker) AskWorker(ctx context.Context, instance string, ref bus.ClaimRef) bus.Answer {
	k.w.pause(ctx, k.w.tape.draw())
	other := k.w.alive(instance)
	if other == nil {
		return bus.Absent
	}
	if k.cut() || other.cut() || k.w.isDown() || k.w.tape.draw() > 240 {
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
