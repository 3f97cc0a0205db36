package actortest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// World is the journal, its bells and the workers of one service.
type World struct {
	spec bus.Spec
	tape *tape
	log  *slog.Logger

	loseAcks  atomic.Int64
	holdAck   atomic.Int64
	slow      atomic.Int64 // nanoseconds that an append of a worker takes
	conflicts atomic.Int64

	// mayAck says what is wrong about the ack of an event's bell, given the session's events so far. w.mu is held.
	mayAck func(e envelope.Event, events []envelope.Event) error

	mu        sync.Mutex
	events    []envelope.Event                // guarded by mu; cursor n is events[n-1]
	purged    map[uint64]bool                 // guarded by mu; cursors that are no longer there
	last      map[session.ID]uint64           // guarded by mu
	snaps     map[session.ID]bus.Snapshot     // guarded by mu
	bells     map[uint64]*pending             // guarded by mu; un-acked, and timers, by number
	timers    map[session.ID]*pending         // guarded by mu; those that have not rung
	dead      []envelope.Event                // guarded by mu; of bells that were given up
	wrongAcks []error                         // guarded by mu
	bellSeq   uint64                          // guarded by mu
	again     int                             // guarded by mu; deliveries that were not the first of their bell
	delivered uint64                          // guarded by mu; highest cursor that was ever delivered
	fullUntil time.Time                       // guarded by mu; no room in the journal before
	downUntil time.Time                       // guarded by mu; no server before
	lagUntil  time.Time                       // guarded by mu; the journal's leader lags behind what it has others deliver
	workers   []*worker                       // guarded by mu; all that ever lived
	react     func(envelope.Event) []Reaction // called for each stored event
	coming    int                             // guarded by mu; reactions, and appends that are late
}

// Reaction is what the world outside of the service does about an event: it appends a fact after a while.
type Reaction struct {
	After time.Duration
	Body  envelope.Body
	Key   string // source key; a fact is posted twice with the same key when the tape says so
	Twice bool
}

func newWorld(spec bus.Spec, bytes []byte, react func(envelope.Event) []Reaction) *World {
	return &World{
		spec: spec, tape: &tape{bytes: bytes}, react: react,
		log:    slog.New(slog.DiscardHandler),
		purged: make(map[uint64]bool),
		last:   make(map[session.ID]uint64),
		snaps:  make(map[session.ID]bus.Snapshot),
		bells:  make(map[uint64]*pending),
		timers: make(map[session.ID]*pending),
	}
}

var errFull = fault.New(fault.Full, "no room")

// store appends by compare-and-set, and rings for what is a doorbell.
func (w *World) store(e envelope.Event) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := w.last[e.Session]; last != e.Prev {
		return 0, &bus.Conflict{Last: last, Known: true}
	}
	if time.Now().Before(w.fullUntil) {
		return 0, errFull
	}
	stored, err := wire(e, uint64(len(w.events)+1))
	if err != nil {
		return 0, err
	}
	w.events = append(w.events, stored)
	w.last[e.Session] = stored.Cursor
	if w.isDoorbell(stored) {
		w.ring(stored)
	}
	if w.react != nil {
		for _, r := range w.react(stored) {
			w.coming++
			go w.arrive(r.After, func() {
				w.Post(e.Session, r.Body, r.Key)
				if r.Twice {
					w.Post(e.Session, r.Body, r.Key)
				}
			})
		}
	}
	return stored.Cursor, nil
}

// arrive does something after a while, and counts down what is coming. The bubble waits for it.
func (w *World) arrive(after time.Duration, do func()) {
	time.Sleep(after)
	do()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.coming--
}

func (w *World) isDoorbell(e envelope.Event) bool {
	return slices.ContainsFunc(w.spec.Doorbells, func(bell string) bool {
		kind, channel, one := strings.Cut(bell, "@")
		if one && channel != e.Session.Channel() {
			return false
		}
		if b, ok := e.Body.(envelope.Suffixed); ok {
			return kind == e.Kind()+".*" || kind == e.Kind()+"."+b.SubjectSuffix()
		}
		return kind == e.Kind()
	})
}

// wire sends an event through its wire form, as the real journal does.
func wire(e envelope.Event, cursor uint64) (envelope.Event, error) {
	data, err := json.Marshal(e.Body)
	if err != nil {
		return envelope.Event{}, err
	}
	return envelope.Decode(e.Subject(), envelope.HeaderOf(e), data, cursor, registry.Decode)
}

// Post appends a fact from outside behind whatever the session has; a key that is there already changes nothing, as the
// one gate of intake has it. It returns the event's id. It waits for room.
func (w *World) Post(s session.ID, body envelope.Body, key string) string {
	e := envelope.Event{ID: "fact-" + key, Session: s, Key: key, Source: "outside/1", Time: time.Now().UTC().Round(0), Body: body}
	for {
		w.mu.Lock()
		known := slices.ContainsFunc(w.events, func(o envelope.Event) bool { return o.Session == s && o.Key == key && key != "" })
		e.Prev = w.last[s]
		w.mu.Unlock()
		if known {
			return e.ID
		}
		_, err := w.store(e)
		if err == nil {
			return e.ID
		}
		if errors.Is(err, errFull) {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if _, ok := errors.AsType[*bus.Conflict](err); !ok {
			panic(fmt.Sprintf("post %s: %v", body.EventType(), err))
		}
	}
}

// Delete appends the tombstone of a session, and purges what lies below it.
func (w *World) Delete(s session.ID, tombstone envelope.Body, key string) {
	w.Post(s, tombstone, key)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range slices.Backward(w.events) {
		if e.Session == s && e.Key == key {
			w.purge(s, e.Cursor)
			break
		}
	}
	delete(w.snaps, s)
}

// Purge takes all events of a session away, as an operator may do: without a tombstone, and not the snapshot.
func (w *World) Purge(s session.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.purge(s, uint64(len(w.events)+1))
	delete(w.last, s)
}

// purge drops events below a cursor, and their bells. w.mu is held.
func (w *World) purge(s session.ID, below uint64) {
	for _, e := range w.events {
		if e.Session == s && e.Cursor < below {
			w.purged[e.Cursor] = true
		}
	}
	for _, p := range w.bells {
		if w.purged[p.event.Cursor] {
			w.drop(p)
		}
	}
}

// Fill leaves no room in the journal for a while.
func (w *World) Fill(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fullUntil = time.Now().Add(d)
}

// Down takes the server away for a while: nothing is stored, read, delivered or settled.
func (w *World) Down(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.downUntil = time.Now().Add(d)
}

// Lag has the journal's leader lag for a while: an event of a session is delivered, and workers' appends are still held against
// the one before it.
func (w *World) Lag(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lagUntil = time.Now().Add(d)
}

func (w *World) isDown() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Before(w.downUntil)
}

// Events are the events of a session, in order.
func (w *World) Events(s session.ID) []envelope.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.eventsOf(s)
}

// eventsOf is Events; w.mu is held.
func (w *World) eventsOf(s session.ID) (es []envelope.Event) {
	for _, e := range w.events {
		if e.Session == s && !w.purged[e.Cursor] {
			es = append(es, e)
		}
	}
	return es
}

// LoseAcks stores the next n appends of workers, and tells them of a timeout.
func (w *World) LoseAcks(n int) { w.loseAcks.Store(int64(n)) }

// HoldAck stores the next append of a worker, which hears of it so much later: as a process that stands still meanwhile.
func (w *World) HoldAck(d time.Duration) { w.holdAck.Store(int64(d)) }

// Slow makes each append of a worker take so long.
func (w *World) Slow(d time.Duration) { w.slow.Store(int64(d)) }

// Conflicts counts the appends of workers that were lost to another's.
func (w *World) Conflicts() int { return int(w.conflicts.Load()) }

// Kill ends all workers; others take their places.
func (w *World) Kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.workers {
		_ = k.die()
	}
}

// Nudge tells all workers that a claim of theirs in a session may be closed.
func (w *World) Nudge(s session.ID) {
	w.mu.Lock()
	workers := slices.Clone(w.workers)
	w.mu.Unlock()
	for _, k := range workers {
		k.mu.Lock()
		nudge := k.nudged
		k.mu.Unlock()
		if nudge != nil {
			nudge(bus.ClaimRef{Session: s})
		}
	}
}

// Redelivered counts the deliveries that were not the first of a bell.
func (w *World) Redelivered() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.again
}

// Dead are the events of the bells that were given up.
func (w *World) Dead() []envelope.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dead)
}

func (w *World) sessions() []session.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ids []session.ID
	for s := range w.last {
		ids = append(ids, s)
	}
	slices.Sort(ids)
	return ids
}

// named is the worker of a name as its events carry it, or nil.
func (w *World) named(source string) *worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.workers {
		if w.spec.Name+"/"+k.instance == source {
			return k
		}
	}
	return nil
}

// alive is the worker of a name, or nil.
func (w *World) alive(instance string) *worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.workers {
		if k.instance == instance && !k.dead.Load() && !k.ended.Load() {
			return k
		}
	}
	return nil
}

var errTimeout = fault.New(fault.Timeout, "no answer")

// pause lets other goroutines of the bubble go first: the order of things is the tape's.
func (w *World) pause(ctx context.Context, b byte) {
	w.sleep(ctx, time.Duration(b%16)*time.Millisecond)
}

func (w *World) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
