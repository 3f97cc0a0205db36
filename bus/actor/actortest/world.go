package actortest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
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

	mu      sync.Mutex
	events  []envelope.Event                // guarded by mu; cursor n is events[n-1]
	last    map[session.ID]uint64           // guarded by mu
	snaps   map[session.ID]bus.Snapshot     // guarded by mu
	bells   map[uint64]*pending             // guarded by mu; un-acked, by number
	bellSeq uint64                          // guarded by mu
	workers []*worker                       // guarded by mu; all that ever lived
	react   func(envelope.Event) []Reaction // called for each stored event
	coming  int                             // guarded by mu; reactions under way
	pending sync.WaitGroup                  // the same, to wait for
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
		log:   slog.New(slog.DiscardHandler),
		last:  make(map[session.ID]uint64),
		snaps: make(map[session.ID]bus.Snapshot),
		bells: make(map[uint64]*pending),
	}
}

// store appends by compare-and-set, and rings for what is a doorbell.
func (w *World) store(e envelope.Event) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := w.last[e.Session]; last != e.Prev {
		return 0, &bus.Conflict{Last: last, Known: true}
	}
	stored, err := wire(e, uint64(len(w.events)+1))
	if err != nil {
		return 0, err
	}
	w.events = append(w.events, stored)
	w.last[e.Session] = stored.Cursor
	if slices.ContainsFunc(w.spec.Doorbells, func(k string) bool { return rings(k, stored) }) {
		w.ring(stored)
	}
	if w.react != nil {
		for _, r := range w.react(stored) {
			w.coming++
			w.pending.Go(func() {
				time.Sleep(r.After)
				w.Post(e.Session, r.Body, r.Key)
				if r.Twice {
					w.Post(e.Session, r.Body, r.Key)
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				w.coming--
			})
		}
	}
	return stored.Cursor, nil
}

func rings(kind string, e envelope.Event) bool {
	if _, ok := e.Body.(envelope.Suffixed); ok {
		return kind == e.Kind()+".*"
	}
	return kind == e.Kind()
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
// one gate of intake has it. It returns the event's id.
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
		if _, ok := errors.AsType[*bus.Conflict](err); !ok {
			panic(fmt.Sprintf("post %s: %v", body.EventType(), err))
		}
	}
}

// Events are the events of a session, in order.
func (w *World) Events(s session.ID) []envelope.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var es []envelope.Event
	for _, e := range w.events {
		if e.Session == s {
			es = append(es, e)
		}
	}
	return es
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

// Live says how many workers are alive; a test may want to know in Perform.
func (w *World) alive(instance string) *worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.workers {
		if k.instance == instance && !k.dead.Load() {
			return k
		}
	}
	return nil
}

var errTimeout = fault.New(fault.Timeout, "no answer")

// pause lets other goroutines of the bubble go first: the order of things is the tape's.
func (w *World) pause(ctx context.Context, b byte) {
	t := time.NewTimer(time.Duration(b%16) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
