package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// process is a place where all services run; one life follows the other.
type process struct {
	n    int
	born int
	life *life // the present one; nil while it is down
}

// life is a process from its start to its end. What is said of it here only the loom reads and writes, but for dead.
type life struct {
	w       *world
	id      string
	ports   map[string]*port
	cancel  context.CancelFunc // asks it to stop
	running int                // actors whose Run has not returned
	dead    atomic.Bool        // killed: whatever its goroutines still do changes nothing. It changes while all stand still
	killed  chan struct{}      // closed then
	cut     time.Duration      // until then nothing reaches it, and nothing from it anybody
	frozen  time.Duration      // until then it stands still
	skew    time.Duration      // of its clock on the wall
}

var errDead = errors.New("this process is dead")

// start begins a new life of a process.
func (w *world) start(p *process) {
	p.born++
	ctx, cancel := context.WithCancel(context.Background())
	l := &life{w: w, id: fmt.Sprintf("p%d-%d", p.n, p.born), cancel: cancel, ports: map[string]*port{}, killed: make(chan struct{})}
	if w.skewed != nil {
		l.skew = w.skewed[p.n] // clocks go on when processes end
	}
	p.life = l
	for _, service := range services {
		k := &port{life: l, service: service, instance: l.id}
		l.ports[service] = k
		run := w.actorOf(k)
		l.running++
		go func() {
			l.turn(service, actor.Goroutine{Kind: "run"})
			err := run(ctx)
			l.turn(service, actor.Goroutine{Kind: "end"})
			if !l.dead.Load() {
				w.loom.ask(arrival{life: l, what: "ended", take: func() { w.ended(p, l, err) }})
			}
		}()
	}
}

// ended is called when one of its actors has returned by itself.
func (w *world) ended(p *process, l *life, err error) {
	if l.dead.Load() {
		return
	}
	if l.running--; l.running > 0 {
		return
	}
	if err != nil {
		w.wrong("%s: an actor has ended: %v", l.id, err)
	}
	if p.life == l {
		p.life = nil
		l.cancel()
		w.again(p)
	}
}

// kill ends a process at once, wherever its goroutines stand.
func (w *world) kill(p *process) {
	if p.life == nil {
		return
	}
	l := p.life
	p.life = nil
	l.dead.Store(true)
	close(l.killed)
	l.cancel()
	w.again(p)
}

// again has another life of a process begin in a while.
func (w *world) again(p *process) {
	if w.closing {
		return
	}
	w.loom.after(w.loom.between(10*time.Millisecond, 3*time.Second), nil, "start", uint64(p.n), func() {
		if p.life == nil && !w.closing {
			w.start(p)
		}
	})
}

// clock is its clock on the wall.
func (l *life) clock() time.Time { return time.Now().Add(l.skew) }

// turn stops a goroutine until the loom lets it go on.
func (l *life) turn(service string, g actor.Goroutine) {
	if l.dead.Load() {
		return
	}
	on := make(chan struct{})
	l.w.loom.ask(arrival{life: l, what: service, who: g, turn: true, take: func() {
		l.w.loom.after(l.w.loom.short(), l, turnOf[service], g.Cursor, func() { close(on) })
	}})
	l.wait(on)
}

// wait ends when on is closed, or the process is killed.
func (l *life) wait(on <-chan struct{}) (alive bool) {
	select {
	case <-on:
		return !l.dead.Load()
	case <-l.killed:
		return false
	}
}

// turnOf is what the trace calls goroutines of services that go on.
var turnOf = func() map[string]string {
	m := map[string]string{}
	for _, s := range services {
		m[s] = "turn " + s
	}
	return m
}()

// connected says that messages pass between it and the server.
func (l *life) connected() bool {
	return !l.dead.Load() && l.w.loom.now() >= l.cut && !l.w.server.away()
}

// latency is how long a message is under way.
func (l *life) latency() time.Duration {
	m := l.w.loom
	if l.w.noisy() {
		switch r := m.rng.Float64(); {
		case r < 0.003:
			return m.between(500*time.Millisecond, 8*time.Second)
		case r < 0.02:
			return m.between(20*time.Millisecond, 500*time.Millisecond)
		}
	}
	return m.between(20*time.Microsecond, 600*time.Microsecond)
}

// lost says that a message does not arrive.
func (l *life) lost() bool { return !l.connected() || l.w.noisy() && l.w.loom.chance(0.002) }

var (
	errAway    = fault.New(fault.Unavailable, "no server")
	errNoReply = fault.New(fault.Timeout, "no answer")
)

// requestTime is how long a process waits for an answer of the server.
const requestTime = 5 * time.Second

// call has the server do something, and waits for its answer: the request travels, something is done, the answer travels. Each
// way may be long, or lead nowhere; then the caller learns of a timeout, and not whether it was done.
func (l *life) call(ctx context.Context, what string, limit time.Duration, do func() error) error {
	if l.dead.Load() {
		return errDead
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if at, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(at))
	}
	c := &request{life: l, what: what, on: make(chan struct{})}
	l.w.loom.ask(arrival{life: l, what: what, waits: true, take: func() { c.send(limit, do) }})
	if !l.wait(c.on) {
		return errDead
	}
	return c.err
}

type request struct {
	life *life
	what string
	on   chan struct{}
	done bool
	err  error
}

func (c *request) end(err error) {
	if !c.done {
		c.done, c.err = true, err
		close(c.on)
	}
}

func (c *request) send(limit time.Duration, do func() error) {
	l, m := c.life, c.life.w.loom
	began := m.now()
	late := func() {
		m.after(max(limit-(m.now()-began), 1), l, "timeout", 0, func() { c.end(errNoReply) })
	}
	if !l.connected() && m.chance(0.7) { // it knows already that the connection is gone
		m.after(l.latency(), l, "no server", 0, func() { c.end(errAway) })
		return
	}
	there := l.latency()
	if there >= limit {
		late()
	}
	m.after(there, nil, c.what, 0, func() {
		if l.lost() {
			if there < limit {
				late()
			}
			return
		}
		err := do()
		back := l.latency()
		if there+back >= limit || l.lost() {
			if there < limit {
				late()
			}
			return
		}
		m.after(back, l, "answer", 0, func() {
			if l.connected() {
				c.end(err)
				return
			}
			late()
		})
	})
}

// send tells the server something, and waits for nothing.
func (l *life) send(what string, do func()) {
	if l.dead.Load() {
		return
	}
	l.w.loom.ask(arrival{life: l, what: what, take: func() {
		if !l.connected() { // what is written to a connection that is gone is sent when it is back, or never
			return
		}
		l.w.loom.after(l.latency(), nil, what, 0, func() {
			if !l.lost() {
				do()
			}
		})
	}})
}

// silent is the logger of all actors: what happens is in the trace and the journal.
var silent = slog.New(slog.DiscardHandler)

// ports are what an actor has of the world.
func (k *port) ports(spec bus.Spec) actor.Ports {
	p := actor.Ports{
		Journal: k, Bells: k, Peers: k, Instance: k.instance, Log: silent,
		Seams: actor.Seams{
			Now:  k.clock,
			Rand: k.life.rand,
			Turn: func(g actor.Goroutine) { k.life.turn(k.service, g) },
		},
	}
	if spec.Snapshots {
		p.Snapshots = k
	}
	if spec.Timers {
		p.Timers = k
	}
	if k.life.w.tamper.bells != nil {
		p.Bells = k.life.w.tamper.bells(p.Bells)
	}
	return p
}

// rand is chance for the one goroutine that runs. The dead have none.
func (l *life) rand() float64 {
	if l.dead.Load() {
		return 0.5
	}
	return l.w.loom.rng.Float64()
}
