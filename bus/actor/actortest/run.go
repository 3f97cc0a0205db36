package actortest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/bus/lru"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Scenario is one history to play.
type Scenario[S any] struct {
	Spec    bus.Spec
	Machine actor.Machine[S]
	Workers int    // processes at a time; 1 if 0
	Tape    []byte // the faults
	// Script posts facts from outside; it may sleep. It runs beside the workers.
	Script func(w *World)
	// React is what the world does about an event (a tool answers a call); it may be nil.
	React func(envelope.Event) []Reaction
	// Begin judges the begin of an effect; it may be nil. An effect that begins twice is found without it.
	Begin func(w *World, work actor.Work[S]) error
	// Stops are pauses after each of which the worker that is longest there is asked to stop, and another takes its place.
	// With an otherwise empty tape such a worker has to hand over all that it holds.
	Stops []time.Duration
	// Check judges the events of one session and their fold, after all is quiet. A deleted session begins with its
	// tombstone.
	Check func(s session.ID, events []envelope.Event, state S) error
}

// The world has time for its faults, then for becoming quiet; both in the bubble's time.
const (
	turmoil  = 10 * time.Minute
	patience = time.Hour
)

// Run plays a scenario and says what is wrong, if anything. It must be called in a bubble of testing/synctest.
func Run[S any](sc Scenario[S]) error {
	w := newWorld(sc.Spec, slices.Clone(sc.Tape), sc.React)
	p := &play[S]{sc: sc, w: w, actors: make(map[*worker]*actor.Actor[S]), begun: make(map[bus.ClaimRef]bool)}
	w.mayAck = p.mayAck
	p.watchEffects()
	for range max(sc.Workers, 1) {
		if err := p.spawn(); err != nil {
			return err
		}
	}
	p.wg.Go(p.stopSome)
	sc.Script(w)
	verdict := p.settle()
	if verdict == nil {
		verdict = p.judge()
	}
	p.stop()
	if verdict != nil {
		return fmt.Errorf("%w\n%s", verdict, w.history())
	}
	return nil
}

type play[S any] struct {
	sc     Scenario[S]
	w      *World
	wg     sync.WaitGroup
	mu     sync.Mutex
	over   bool                        // guarded by mu; nobody is born any more
	actors map[*worker]*actor.Actor[S] // guarded by mu
	errs   []error                     // guarded by mu
	born   int                         // guarded by mu
	begun  map[bus.ClaimRef]bool       // guarded by mu; claims whose effect has begun
}

func (p *play[S]) wrong(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errs = append(p.errs, err)
}

// watchEffects sees each effect begin.
func (p *play[S]) watchEffects() {
	perform := p.sc.Machine.Perform
	if perform == nil {
		return
	}
	p.sc.Machine.Perform = func(ctx context.Context, work actor.Work[S]) (envelope.Body, error) {
		ref := bus.ClaimRef{Session: work.Session, Claim: work.Claim.Cursor}
		p.mu.Lock()
		twice := p.begun[ref]
		p.begun[ref] = true
		p.mu.Unlock()
		if twice {
			p.wrong(fmt.Errorf("the effect of claim %d of %s was begun twice", ref.Claim, ref.Session))
		}
		if k := p.w.named(work.Claim.Source); k != nil {
			if asked := k.asked.Load(); asked != 0 && work.Claim.Time.UnixNano() > asked {
				p.wrong(fmt.Errorf("%s was asked to stop, and made the claim %d of %s", k.instance, ref.Claim, ref.Session))
			}
		}
		if p.sc.Begin != nil {
			if err := p.sc.Begin(p.w, work); err != nil {
				p.wrong(err)
			}
		}
		return perform(ctx, work)
	}
}

// spawn starts a worker; when it dies or stops another takes its place after a while.
func (p *play[S]) spawn() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return nil
	}
	p.born++
	ctx, cancel := context.WithCancel(context.Background())
	k := &worker{w: p.w, instance: fmt.Sprintf("w%d", p.born), cancel: cancel}
	a, err := actor.NewOn(p.sc.Machine, k.ports(), p.sc.Spec, actor.Options{SnapshotEvery: 3, Cache: lru.Limits{Entries: 2, Bytes: 1 << 10}})
	if err != nil {
		cancel()
		return err
	}
	p.actors[k] = a
	p.w.mu.Lock()
	p.w.workers = append(p.w.workers, k)
	p.w.mu.Unlock()
	p.wg.Go(func() {
		err := a.Run(ctx)
		if n := p.w.heldBy(k); n > 0 && len(p.sc.Tape) == 0 && !k.dead.Load() {
			p.wrong(fmt.Errorf("%s stopped and left %d bells to time out", k.instance, n))
		}
		k.ended.Store(true)
		if err != nil && !k.dead.Load() && ctx.Err() == nil {
			p.wrong(err)
		}
		if ctx.Err() == nil { // it could not begin: as a supervisor has it
			k.stop()
		}
	})
	p.wg.Go(func() {
		<-ctx.Done()
		time.Sleep(time.Duration(p.w.tape.draw()) * 10 * time.Millisecond)
		if err := p.spawn(); err != nil {
			panic(err) // the same machine was accepted before
		}
	})
	return nil
}

// stopSome asks workers to stop, as the scenario has it.
func (p *play[S]) stopSome() {
	for _, pause := range p.sc.Stops {
		time.Sleep(pause)
		p.w.mu.Lock()
		for _, k := range p.w.workers {
			if k.ring != nil && !k.dead.Load() {
				k.stop()
				break
			}
		}
		p.w.mu.Unlock()
	}
}

// settle waits until every bell is acked; the rest of the tape is cut off when that takes too long.
func (p *play[S]) settle() error {
	for waited := time.Duration(0); waited < turmoil+patience; waited += time.Second {
		if p.w.quiet() {
			p.w.tape.cut()
			p.w.Down(0)
			return nil
		}
		if waited == turmoil {
			p.w.tape.cut()
		}
		time.Sleep(time.Second)
	}
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	var b strings.Builder
	for _, bell := range p.w.bells {
		fmt.Fprintf(&b, " cursor %d of %s (%d deliveries)", bell.event.Cursor, bell.event.Session, bell.deliveries)
	}
	return fmt.Errorf("stuck: bells not acked:%s", b.String())
}

func (p *play[S]) stop() {
	p.mu.Lock()
	p.over = true
	for k := range p.actors {
		k.stop()
	}
	p.mu.Unlock()
	p.wg.Wait()
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	for _, b := range p.w.bells {
		b.timer.Stop()
	}
}
