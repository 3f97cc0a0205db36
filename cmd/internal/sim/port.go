package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// port is one service's connection to the server, in one life of a process.
type port struct {
	life     *life
	service  string
	instance string

	ring  func(bus.Bell) // the loom's; nil while it takes no bells
	busy  func(bus.ClaimRef) bool
	nudge func(bus.ClaimRef)
	told  bool // it knows the server's clock; see bus.Conn.Now
}

// clock is the time by which it dates things: the server's, which is right, once it is known.
func (k *port) clock() time.Time {
	if k.told && !k.life.w.tamper.ownClocks {
		return time.Now()
	}
	return k.life.clock()
}

// open takes bells from now on, once the server has said what time it is.
func (k *port) open(ctx context.Context, ring func(bus.Bell)) {
	switch {
	case ctx.Err() != nil || k.life.dead.Load():
	case k.told || k.life.connected():
		k.told, k.ring = true, ring
	default:
		k.life.w.loom.after(reopen, k.life, "open", 0, func() { k.open(ctx, ring) })
	}
}

// reopen is how long a connection waits for a server that is away.
const reopen = 500 * time.Millisecond

// Stamp gives an event its id, which no other has.
func (k *port) Stamp(e *envelope.Event) {
	if e.ID == "" {
		if k.life.dead.Load() {
			e.ID = "dead"
		} else { // only one goroutine of the living runs
			k.life.w.numbers++
			e.ID = fmt.Sprintf("e%d", k.life.w.numbers)
		}
	}
	if e.Source == "" {
		e.Source = k.service + "/" + k.instance
	}
	if e.Time.IsZero() {
		e.Time = k.clock().UTC().Round(0)
	}
}

// Append stores an event.
func (k *port) Append(ctx context.Context, e envelope.Event) (uint64, error) {
	k.Stamp(&e)
	var cursor uint64
	err := k.life.call(ctx, "append", requestTime, func() (err error) {
		cursor, err = k.life.w.server.append(e)
		return err
	})
	if err != nil {
		return 0, err
	}
	return cursor, nil
}

// Get reads one event.
func (k *port) Get(ctx context.Context, cursor uint64) (envelope.Event, error) {
	var got envelope.Event
	err := k.life.call(ctx, "get", requestTime, func() (err error) {
		got, err = k.life.w.server.get(cursor)
		return err
	})
	if err != nil {
		return envelope.Event{}, err
	}
	return got, nil
}

// Last is the last cursor of a session.
func (k *port) Last(ctx context.Context, s session.ID) (uint64, error) {
	var last uint64
	err := k.life.call(ctx, "last", requestTime, func() error {
		last = k.life.w.server.last[s]
		return nil
	})
	if err != nil {
		return 0, err
	}
	return last, nil
}

// LoadSnapshot reads a fold.
func (k *port) LoadSnapshot(ctx context.Context, s session.ID) (bus.Snapshot, bool, error) {
	var snap bus.Snapshot
	var ok bool
	err := k.life.call(ctx, "load snapshot", requestTime, func() error {
		snap, ok = k.life.w.server.snaps[place{k.service, s}]
		return nil
	})
	if err != nil {
		return bus.Snapshot{}, false, err
	}
	return snap, ok, nil
}

// SaveSnapshot keeps a fold, also an older one over a newer one.
func (k *port) SaveSnapshot(ctx context.Context, s session.ID, snap bus.Snapshot) error {
	return k.life.call(ctx, "save snapshot", requestTime, func() error {
		k.life.w.server.snaps[place{k.service, s}] = snap
		return nil
	})
}

// DropSnapshot forgets a fold.
func (k *port) DropSnapshot(ctx context.Context, s session.ID) error {
	return k.life.call(ctx, "drop snapshot", requestTime, func() error {
		delete(k.life.w.server.snaps, place{k.service, s})
		return nil
	})
}

// SetTimer stores a timer.
func (k *port) SetTimer(ctx context.Context, s session.ID, at time.Time) error {
	return k.life.call(ctx, "set timer", requestTime, func() error {
		k.life.w.server.setTimer(k.service, s, at)
		return nil
	})
}

// Doorbells takes bells until ctx ends.
func (k *port) Doorbells(ctx context.Context, _ bus.Spec, ring func(bus.Bell)) error {
	if k.life.dead.Load() {
		return nil
	}
	k.life.w.loom.ask(arrival{life: k.life, what: "open", take: func() { k.open(ctx, ring) }})
	<-ctx.Done()
	k.life.turn(k.service, actor.Goroutine{Kind: "doorbells"})
	k.life.w.loom.ask(arrival{life: k.life, what: "shut", take: func() { k.ring = nil }})
	return nil
}

// Backlog is what a dead worker perhaps holds.
func (k *port) Backlog(ctx context.Context, _ bus.Spec, part func(envelope.Event) string) ([]envelope.Event, error) {
	var all []envelope.Event
	err := k.life.call(ctx, "backlog", requestTime, func() error {
		all = k.life.w.server.backlog(k.service, part)
		k.told = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// askTime is bus.Conn's.
const askTime = 500 * time.Millisecond

// AskWorker asks another worker of the service about a claim.
func (k *port) AskWorker(ctx context.Context, instance string, ref bus.ClaimRef) bus.Answer {
	a := bus.Silent
	err := k.life.call(ctx, "ask worker", askTime, func() error {
		switch other := k.life.w.listening(k.service, instance); {
		case other == nil:
			a = bus.Absent
		case !other.life.connected() || other.life.frozen > k.life.w.loom.now():
			return errNoReply
		case other.busy(ref):
			a = bus.Busy
		default:
			a = bus.Free
		}
		return nil
	})
	if err != nil {
		return bus.Silent
	}
	return a
}

// listening is the port of a worker that the server knows to listen; one that is cut off it knows no longer after a while.
func (w *world) listening(service, instance string) *port {
	for _, p := range w.processes {
		if p.life != nil && p.life.id == instance && p.life.ports[service].busy != nil {
			if p.life.cut > w.loom.now() && w.loom.chance(0.3) {
				return nil
			}
			return p.life.ports[service]
		}
	}
	return nil
}

// Nudge tells another worker to look.
func (k *port) Nudge(instance string, ref bus.ClaimRef) error {
	k.life.send("nudge", func() {
		if other := k.life.w.listening(k.service, instance); other != nil && other.life.connected() && !other.life.lost() {
			other.life.w.loom.after(other.life.latency(), other.life, "nudged", ref.Claim, func() {
				if !other.life.dead.Load() {
					other.nudge(ref)
				}
			})
		}
	})
	return nil
}

// AnswerWorkers hears what others ask. The caller is the one goroutine that runs.
func (k *port) AnswerWorkers(_ context.Context, busy func(bus.ClaimRef) bool, nudge func(bus.ClaimRef)) error {
	k.busy, k.nudge = busy, nudge
	return nil
}

// deliver sends a bell to the worker.
func (k *port) deliver(b *bell) {
	l, n := k.life, b.deliveries
	if l.lost() {
		return
	}
	l.w.loom.after(l.latency(), l, "ring", b.n, func() {
		if !l.dead.Load() && l.connected() && k.ring != nil {
			k.ring(&handed{port: k, bell: b, n: n})
		}
	})
}

// handed is a bell in the hands of a worker. What it says of it reaches the server late, or never; the server heeds it also when
// another has the bell by then.
type handed struct {
	port *port
	bell *bell
	n    int
}

func (d *handed) Event() envelope.Event { return d.bell.event }
func (d *handed) Deliveries() int       { return d.n }

func (d *handed) Ack() error {
	return d.settle("ack", func(s *server) { s.ack(d.bell) })
}

func (d *handed) Nak(after time.Duration) error {
	return d.settle("nak", func(s *server) { s.deliverIn(after, d.bell) })
}

func (d *handed) InProgress() error {
	return d.settle("in progress", func(s *server) { s.deliverIn(bus.AckWait, d.bell) })
}

func (d *handed) Quarantine(reason string) error {
	return d.settle("quarantine", func(s *server) {
		s.w.wrong("the bell of event %d of %s is given up by %s: %s", d.bell.event.Cursor, d.bell.event.Session, d.bell.service, reason)
		s.ack(d.bell)
	})
}

func (d *handed) settle(what string, do func(*server)) error {
	s := d.port.life.w.server
	d.port.life.send(what, func() {
		if s.rings[d.bell.service].bells[d.bell.n] == d.bell {
			do(s)
		}
	})
	return nil
}
