package actortest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
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
	// Check judges the events of one session and their fold, after all is quiet.
	Check func(s session.ID, events []envelope.Event, state S) error
}

// The world has time for its faults, then for becoming quiet; both in the bubble's time.
const (
	turmoil  = 10 * time.Minute
	patience = time.Hour
)

// Run plays a scenario and says what is wrong, if anything. It must be called in a bubble of testing/synctest.
func Run[S any](sc Scenario[S]) error {
	w := newWorld(sc.Spec, bytes.Clone(sc.Tape), sc.React)
	p := &play[S]{sc: sc, w: w, actors: make(map[*worker]*actor.Actor[S])}
	for range max(sc.Workers, 1) {
		if err := p.spawn(); err != nil {
			return err
		}
	}
	sc.Script(w)
	w.pending.Wait()
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
}

// spawn starts a worker; when it dies another takes its place after a while.
func (p *play[S]) spawn() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return nil
	}
	p.born++
	ctx, kill := context.WithCancel(context.Background())
	k := &worker{w: p.w, instance: fmt.Sprintf("w%d", p.born), kill: kill}
	a, err := actor.NewOn(p.sc.Machine, k.ports(), p.sc.Spec, actor.Options{SnapshotEvery: 3, CacheSessions: 2})
	if err != nil {
		kill()
		return err
	}
	p.actors[k] = a
	p.w.mu.Lock()
	p.w.workers = append(p.w.workers, k)
	p.w.mu.Unlock()
	p.wg.Go(func() {
		if err := a.Run(ctx); err != nil && !k.dead.Load() {
			p.mu.Lock()
			p.errs = append(p.errs, err)
			p.mu.Unlock()
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

// settle waits until every bell is acked; the rest of the tape is cut off when that takes too long.
func (p *play[S]) settle() error {
	for waited := time.Duration(0); waited < turmoil+patience; waited += time.Second {
		if p.w.quiet() {
			p.w.tape.cut()
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

// judge checks every session: the chain, no step left, the folds in memory against a fresh one, and the scenario's own rules.
func (p *play[S]) judge() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.errs) > 0 {
		return p.errs[0]
	}
	for _, s := range p.w.sessions() {
		var state S
		prev := uint64(0)
		events := p.w.Events(s)
		for _, e := range events {
			if e.Prev != prev {
				return fmt.Errorf("session %s: event %d follows %d, not %d", s, e.Cursor, e.Prev, prev)
			}
			prev = e.Cursor
			state = p.sc.Machine.Apply(state, e)
		}
		want, err := json.Marshal(state)
		if err != nil {
			return err
		}
		for k, a := range p.actors {
			if k.dead.Load() {
				continue
			}
			mem, _, err := a.Fold(context.Background(), s, 0)
			if err != nil {
				return fmt.Errorf("session %s: fold of %s: %w", s, k.instance, err)
			}
			got, err := json.Marshal(mem)
			if err != nil {
				return err
			}
			if !bytes.Equal(got, want) {
				return fmt.Errorf("session %s: %s has in memory\n %s\nthe journal says\n %s", s, k.instance, got, want)
			}
		}
		if p.sc.Check != nil {
			if err := p.sc.Check(s, events, state); err != nil {
				return fmt.Errorf("session %s: %w", s, err)
			}
		}
	}
	return nil
}

func (p *play[S]) stop() {
	p.mu.Lock()
	p.over = true
	for k := range p.actors {
		k.kill()
	}
	p.mu.Unlock()
	p.wg.Wait()
	p.w.pending.Wait()
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	for _, b := range p.w.bells {
		b.timer.Stop()
	}
}

// history prints the journal for a person.
func (w *World) history() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, e := range w.events {
		data, err := json.Marshal(e.Body)
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(&b, "%4d <-%-4d %s %-12s %-20s %-10s by %s  %s\n", e.Cursor, e.Prev,
			e.Time.Format("15:04:05.000"), e.Session, e.Type(), e.ID, e.Source, data)
	}
	return b.String()
}
