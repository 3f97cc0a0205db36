package actor

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/machine"
)

// absence is how long a worker has to be absent, from a first look to a second, before it counts as dead. Answers
// that say "absent" are kept that long: a dead worker with 5,000 sessions is asked twice, not 5,000 times.
const absence = time.Second

// peers remembers which workers nobody answered for.
type peers struct {
	port Peers

	mu     sync.Mutex
	absent map[string]sighting // guarded by mu; by instance
}

type sighting struct {
	first, last time.Time
}

func newPeers(p Peers) *peers { return &peers{port: p, absent: make(map[string]sighting)} }

// ask says what is known of the owner of a claim: Absent only when it was so twice. With Silent comes how soon a second
// look would tell more, 0 if nothing is known of that.
func (p *peers) ask(ctx context.Context, instance string, ref bus.ClaimRef) (bus.Answer, time.Duration) {
	if s, known := p.recall(instance); known {
		return s.verdict()
	}
	if a := p.port.AskWorker(ctx, instance, ref); a != bus.Absent {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.absent, instance)
		return a, 0
	}
	return p.missed(instance).verdict()
}

func (p *peers) recall(instance string) (sighting, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.absent[instance]
	return s, ok && time.Since(s.last) < absence
}

func (p *peers) missed(instance string) sighting {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := time.Now()
	s, ok := p.absent[instance]
	if !ok || t.Sub(s.last) > forgetful { // too long ago to be the same absence
		s.first = t
	}
	s.last = t
	p.absent[instance] = s
	if len(p.absent) > manyAbsent {
		for k, old := range p.absent {
			if t.Sub(old.last) > forgetful {
				delete(p.absent, k)
			}
		}
	}
	return s
}

const (
	forgetful  = 10 * absence
	manyAbsent = 1024
)

func (s sighting) verdict() (bus.Answer, time.Duration) {
	if s.last.Sub(s.first) >= absence {
		return bus.Absent, 0
	}
	return bus.Silent, max(absence-time.Since(s.last), time.Millisecond)
}

var errStubborn = errors.New("the machine does not take over a claim whose owner is gone")

// meet deals with a claim that is not this run's. It returns true when the lane's work has to end.
func (l *lane[S]) meet(ctx context.Context, h machine.Held) (end bool) {
	switch {
	case h.Worker == l.a.p.Instance:
		// This process has one lane a session, and this lane does not perform it: an earlier run gave it up.
	case now().After(h.Deadline):
	case l.deliveries() < 2:
		// The owner is most likely alive: asking on a first delivery would be an ask for every queued message.
		l.nakAll(heldDelay(1))
		return true
	default:
		switch answer, again := l.a.peers.ask(ctx, h.Worker, bus.ClaimRef{Session: l.session, Claim: h.Claim}); answer {
		case bus.Free, bus.Absent:
		case bus.Silent:
			if again > 0 {
				l.nakAll(again + time.Duration(rand.Int64N(int64(absence/4))))
				return true
			}
			if h.Since.IsZero() || time.Since(h.Since) < bus.AckWait<<min(h.Attempt, 10) {
				l.nakAll(heldDelay(1))
				return true
			}
		case bus.Busy:
			l.nakAll(heldDelay(l.deliveries()))
			return true
		}
	}
	if l.gone == h.Claim {
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
