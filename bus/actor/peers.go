package actor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/machine"
)

// absence is how long a worker has to be absent, from a first look to a second, before it counts as dead. Answers
// that say "absent" are kept that long: a dead worker with 5,000 sessions is asked twice, not 5,000 times.
const absence = time.Second

// silence is how long a worker has to be silent, from a first ask to another, before it may count as dead: one answer that
// is late on a busy machine says nothing about a call that takes a minute.
const silence = bus.AckWait

// peers remembers which workers nobody answered for.
type peers struct {
	port Peers

	mu     sync.Mutex
	absent map[string]sighting // guarded by mu; by instance
	silent map[string]sighting // guarded by mu; by instance
}

type sighting struct {
	first, last time.Time
}

func newPeers(p Peers) *peers {
	return &peers{port: p, absent: make(map[string]sighting), silent: make(map[string]sighting)}
}

// opinion is what is known of the owner of a claim.
type opinion struct {
	bus.Answer               // Absent only when it was so twice
	again      time.Duration // with Silent: how soon a second look would tell more; 0 if nothing is known of that
	lasted     time.Duration // with Silent: for how long it has been so, as far as is known
}

func (p *peers) ask(ctx context.Context, instance string, ref bus.ClaimRef) opinion {
	if s, known := p.recall(instance); known {
		return s.absence()
	}
	a := p.port.AskWorker(ctx, instance, ref)
	p.mu.Lock()
	defer p.mu.Unlock()
	if a != bus.Absent {
		delete(p.absent, instance)
	}
	switch a {
	case bus.Absent:
		return note(p.absent, instance).absence()
	case bus.Silent:
		s := note(p.silent, instance)
		return opinion{Answer: a, lasted: s.last.Sub(s.first)}
	case bus.Busy, bus.Free:
	}
	delete(p.silent, instance)
	return opinion{Answer: a}
}

func (p *peers) recall(instance string) (sighting, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.absent[instance]
	return s, ok && time.Since(s.last) < absence
}

// note adds a look to the sightings of an instance.
func note(seen map[string]sighting, instance string) sighting {
	t := time.Now()
	s, ok := seen[instance]
	if !ok || t.Sub(s.last) > forgetful { // too long ago to be the same
		s.first = t
	}
	s.last = t
	seen[instance] = s
	if len(seen) > manySeen {
		for k, old := range seen {
			if t.Sub(old.last) > forgetful {
				delete(seen, k)
			}
		}
	}
	return s
}

const (
	forgetful = 10 * time.Second
	manySeen  = 1024
)

func (s sighting) absence() opinion {
	if s.last.Sub(s.first) >= absence {
		return opinion{Answer: bus.Absent}
	}
	return opinion{Answer: bus.Silent, again: max(absence-time.Since(s.last), time.Millisecond)}
}

var errStubborn = errors.New("the machine does not take over a claim whose owner is gone")

// patience is how long the owner of a claim may be silent. Its deadline, and the time of the claim, are of another clock, which
// may be an hour ahead or behind: they shorten what has to be waited, and never stand for it.
func (l *lane[S]) patience(h machine.Held) time.Duration {
	if l.a.p.Seams.now().After(h.Deadline) {
		return silence
	}
	whole := bus.AckWait << min(h.Attempt, 10)
	if age := l.a.p.Seams.since(h.Since); !h.Since.IsZero() && age >= whole {
		return silence
	}
	return whole
}

// meet deals with a claim that is not this run's: who lives and works on it is never taken over, whatever the time is. It returns
// true when the lane's work has to end.
func (l *lane[S]) meet(ctx context.Context, h machine.Held) (end bool) {
	switch {
	case h.Worker == l.a.p.Instance && l.a.busy(bus.ClaimRef{Session: l.session, Claim: h.Claim}):
		// Another lane of this process is at it.
		l.nakAll(l.heldDelay(l.deliveries()))
		return true
	case h.Worker == l.a.p.Instance:
		// No lane of this process performs it: an earlier run gave it up.
	case l.deliveries() < 2:
		// The owner is most likely alive: asking on a first delivery would be an ask for every queued message.
		l.nakAll(l.heldDelay(1))
		return true
	default:
		switch o := l.a.peers.ask(ctx, h.Worker, bus.ClaimRef{Session: l.session, Claim: h.Claim}); o.Answer {
		case bus.Free, bus.Absent:
		case bus.Silent:
			if o.again > 0 {
				l.nakAll(o.again + time.Duration(l.a.p.Seams.rand()*float64(absence/4)))
				return true
			}
			if o.lasted < silence || o.lasted < l.patience(h) {
				l.nakAll(l.heldDelay(1))
				return true
			}
		case bus.Busy:
			l.nakAll(l.heldDelay(l.deliveries()))
			return true
		}
	}
	if h.Claim <= l.gone { // also when it has asked about a later one since: it could go on so for ever
		l.trouble(ctx, errStubborn)
		return true
	}
	// A stale fold would take over what is over already.
	if err := l.reload(ctx); err != nil {
		l.trouble(ctx, err)
		return true
	}
	l.gone = h.Claim
	return false
}
