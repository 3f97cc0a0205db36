package actortest

import (
	"fmt"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// pending is one un-acked doorbell, or a timer that has not rung.
type pending struct {
	seq        uint64
	event      envelope.Event
	deliveries int
	timer      *time.Timer
	holder     *worker // the last one that got it and has not settled it
}

// ring stores a doorbell. w.mu is held.
func (w *World) ring(e envelope.Event) {
	w.schedule(w.add(e), time.Duration(w.tape.draw()%8)*time.Millisecond)
}

func (w *World) add(e envelope.Event) *pending {
	w.bellSeq++
	p := &pending{seq: w.bellSeq, event: e}
	w.bells[p.seq] = p
	return p
}

// drop takes a bell away. w.mu is held.
func (w *World) drop(p *pending) {
	if p.timer != nil {
		p.timer.Stop()
	}
	delete(w.bells, p.seq)
}

// schedule sets the next delivery. w.mu is held.
func (w *World) schedule(p *pending, after time.Duration) {
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer = time.AfterFunc(after, func() { w.deliver(p) })
}

// setTimer stores a timer: one a session, a later one replaces it. A bell without a cursor, as a timer rings. w.mu is held.
func (w *World) setTimer(s session.ID, at time.Time) {
	if old, ok := w.timers[s]; ok {
		w.drop(old)
	}
	p := w.add(envelope.Event{Session: s})
	w.timers[s] = p
	w.schedule(p, time.Until(at))
}

// Lose takes a session's bells away, as only a hand in the server's store can.
func (w *World) Lose(s session.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.bells {
		if p.event.Session == s {
			w.drop(p)
		}
	}
	delete(w.timers, s)
}

// Ring rings a session as a timer does.
func (w *World) Ring(s session.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setTimer(s, time.Now())
}

// rung notes that a timer has rung: it is a bell like others now, in the place of one that rang before.
func (w *World) rung(p *pending) {
	if s := p.event.Session; w.timers[s] == p {
		delete(w.timers, s)
		for _, o := range w.bells {
			if o != p && o.event.Session == s && o.event.Cursor == 0 {
				w.drop(o)
			}
		}
	}
}

// deliver hands a bell to one of the living workers, sometimes to two, sometimes to none that keeps it.
func (w *World) deliver(p *pending) {
	w.mu.Lock()
	if _, ok := w.bells[p.seq]; !ok {
		w.mu.Unlock()
		return
	}
	w.rung(p)
	var open []*worker
	for _, k := range w.workers {
		if k.ring != nil && !k.dead.Load() {
			open = append(open, k)
		}
	}
	if len(open) == 0 || time.Now().Before(w.downUntil) {
		w.schedule(p, 50*time.Millisecond)
		w.mu.Unlock()
		return
	}
	d := w.tape.draw()
	if p.deliveries++; p.deliveries > 1 {
		w.again++
	}
	w.delivered = max(w.delivered, p.event.Cursor)
	w.schedule(p, bus.AckWait)
	to := []*worker{open[int(d)%len(open)]}
	switch {
	case d > 240: // lost on the way
		to = nil
	case d > 200 && len(open) > 1: // to two at once
		to = append(to, open[(int(d)+1)%len(open)])
	}
	n := p.deliveries
	rings := make([]func(bus.Bell), len(to))
	for i, k := range to {
		rings[i], p.holder = k.ring, k
		k.ringing.Add(1)
	}
	w.mu.Unlock()
	for i, ring := range rings { // not under the lock: the actor settles bells in its own time
		ring(&bell{w: w, k: to[i], p: p, n: n})
		to[i].ringing.Done()
	}
}

type bell struct {
	w *World
	k *worker
	p *pending
	n int
}

func (b *bell) Event() envelope.Event { return b.p.event }
func (b *bell) Deliveries() int       { return b.n }

// settle does f under the lock, unless the worker is dead, the server away, or the tape loses the message.
func (b *bell) settle(f func()) error { return b.send(false, f) }

func (b *bell) send(keep bool, f func()) error {
	lost := b.w.tape.draw() > 230
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	if b.k.dead.Load() {
		return nil
	}
	if b.p.holder == b.k && !keep {
		b.p.holder = nil
	}
	if _, ok := b.w.bells[b.p.seq]; ok && !lost && !time.Now().Before(b.w.downUntil) {
		f()
	}
	return nil
}

// Ack takes the bell away, also when another worker holds it by now: the server accepts late acks.
func (b *bell) Ack() error {
	return b.settle(func() {
		if err := b.w.mayAck(b.p.event, b.w.eventsOf(b.p.event.Session)); err != nil {
			b.w.wrongAcks = append(b.w.wrongAcks, fmt.Errorf("%s acked the bell of event %d: %w", b.k.instance, b.p.event.Cursor, err))
		}
		b.w.drop(b.p)
	})
}

// Nak and InProgress of an old holder count as well.
func (b *bell) Nak(d time.Duration) error {
	return b.settle(func() { b.w.schedule(b.p, d) })
}

func (b *bell) InProgress() error {
	return b.send(true, func() { b.w.schedule(b.p, bus.AckWait) })
}

func (b *bell) Quarantine(string) error {
	return b.settle(func() {
		b.w.drop(b.p)
		b.w.dead = append(b.w.dead, b.p.event)
	})
}

// heldBy counts the bells that a worker has got and not settled.
func (w *World) heldBy(k *worker) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, p := range w.bells {
		if p.holder == k {
			n++
		}
	}
	return n
}

// backlog is the newest doorbell of each part of each session between the oldest un-acked one and the last delivered: what
// a server can tell. Some of it was acked long ago.
func (w *World) backlog(part func(envelope.Event) string) []envelope.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	floor := w.delivered + 1
	for _, p := range w.bells {
		if p.event.Cursor > 0 {
			floor = min(floor, p.event.Cursor)
		}
	}
	newest := make(map[string]envelope.Event)
	for _, e := range w.events {
		if e.Cursor >= floor && e.Cursor <= w.delivered && !w.purged[e.Cursor] && w.isDoorbell(e) {
			lane := string(e.Session)
			if part != nil {
				lane += " " + part(e)
			}
			newest[lane] = e
		}
	}
	es := make([]envelope.Event, 0, len(newest))
	for _, e := range newest {
		es = append(es, e)
	}
	slices.SortFunc(es, func(a, b envelope.Event) int { return int(a.Cursor) - int(b.Cursor) })
	return es
}

// quiet says that no bell waits, no timer runs, and nothing is on its way from outside.
func (w *World) quiet() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.bells) == 0 && w.coming == 0
}
