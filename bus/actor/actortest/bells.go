package actortest

import (
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// pending is one un-acked doorbell.
type pending struct {
	seq        uint64
	event      envelope.Event
	deliveries int
	due        time.Time // when it is delivered next, unless something puts it off
	timer      *time.Timer
}

// ring stores a doorbell. w.mu is held.
func (w *World) ring(e envelope.Event) {
	w.bellSeq++
	p := &pending{seq: w.bellSeq, event: e}
	w.bells[p.seq] = p
	w.schedule(p, time.Duration(w.tape.draw()%8)*time.Millisecond)
}

// schedule sets the next delivery. w.mu is held.
func (w *World) schedule(p *pending, after time.Duration) {
	p.due = time.Now().Add(after)
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer = time.AfterFunc(after, func() { w.deliver(p) })
}

// deliver hands a bell to one of the living workers, sometimes to two, sometimes to none that keeps it.
func (w *World) deliver(p *pending) {
	w.mu.Lock()
	if _, ok := w.bells[p.seq]; !ok {
		w.mu.Unlock()
		return
	}
	var open []*worker
	for _, k := range w.workers {
		if k.ring != nil && !k.dead.Load() {
			open = append(open, k)
		}
	}
	if len(open) == 0 {
		w.schedule(p, 50*time.Millisecond)
		w.mu.Unlock()
		return
	}
	d := w.tape.draw()
	p.deliveries++
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
		rings[i] = k.ring
	}
	w.mu.Unlock()
	for i, ring := range rings { // not under the lock: the actor settles bells in its own time
		ring(&bell{w: w, k: to[i], p: p, n: n})
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

// settle does f under the lock, unless the worker is dead or the tape loses the message.
func (b *bell) settle(f func()) error {
	if b.k.dead.Load() || b.w.tape.draw() > 230 {
		return nil
	}
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	if _, ok := b.w.bells[b.p.seq]; ok {
		f()
	}
	return nil
}

// Ack takes the bell away, also when another worker holds it by now: the server accepts late acks.
func (b *bell) Ack() error {
	return b.settle(func() {
		b.p.timer.Stop()
		delete(b.w.bells, b.p.seq)
	})
}

// Nak and InProgress of an old holder count as well.
func (b *bell) Nak(d time.Duration) error {
	return b.settle(func() { b.w.schedule(b.p, d) })
}

func (b *bell) InProgress() error {
	return b.settle(func() { b.w.schedule(b.p, bus.AckWait) })
}

func (b *bell) Quarantine(string) error { return b.Ack() }

// backlog is the newest un-acked doorbell of each session that was delivered before.
func (w *World) backlog() []envelope.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	newest := make(map[session.ID]envelope.Event)
	for _, p := range w.bells {
		if p.deliveries > 0 && p.event.Cursor > newest[p.event.Session].Cursor {
			newest[p.event.Session] = p.event
		}
	}
	es := make([]envelope.Event, 0, len(newest))
	for _, e := range newest {
		es = append(es, e)
	}
	slices.SortFunc(es, func(a, b envelope.Event) int { return int(a.Cursor) - int(b.Cursor) })
	return es
}

// quiet says that no bell waits and nothing is on its way from outside.
func (w *World) quiet() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.bells) == 0 && w.coming == 0
}
