package sim

import (
	"crypto/ed25519"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
	"github.com/jetclaw/jetclaw/services/tools/call"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// world is all that there is: the server, the processes, and what is outside of them.
type world struct {
	plan      Plan
	loom      *loom
	trace     *trace
	server    *server
	processes []*process
	outside   *outside
	tamper    tamper
	skewed    map[int]time.Duration // clocks that were stepped, by process
	numbers   uint64                // of ids and bells
	closing   bool
	rules     atomic.Int64 // version of what the gate decides by; also the dead read it
	faults    []error      // what was found wrong while it ran
	limits    delivery.Limits
	key       ed25519.PrivateKey
}

// tamper plants bugs, to see whether the checker finds them. The zero value plants none.
type tamper struct {
	ownClocks bool // processes go by their own clocks, and not by the server's
	blind     bool // the journal appends whatever the session has by then
	bells     func(actor.Bells) actor.Bells
	judge     func(call.Judge) call.Judge
	turns     func(*actor.Machine[turn.State])
	outbox    func(*actor.Machine[delivery.State])
	trusts    bool // executors do not look whether a person has allowed what they do
}

func newWorld(p Plan, t *trace, tam tamper) *world {
	w := &world{plan: p, trace: t, tamper: tam, skewed: map[int]time.Duration{}, key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}
	w.loom = newLoom(p.Seed, t)
	w.server = newServer(w)
	w.outside = newOutside(w)
	w.limits = limitsOf(p)
	for _, service := range services {
		w.server.rings[service] = &consumer{spec: specs[service], bells: map[uint64]*bell{}}
	}
	for n := range p.Processes {
		w.processes = append(w.processes, &process{n: n + 1})
	}
	return w
}

// noisy says that messages are lost, late and doubled.
func (w *world) noisy() bool { return !w.plan.Calm && w.loom.now() < w.plan.Turmoil }

func (w *world) wrong(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	w.trace.say(w.loom.now(), "WRONG: %v", err)
	w.faults = append(w.faults, err)
}

// stored is called for each event that the journal has taken.
func (w *world) stored(e envelope.Event) { w.outside.heard(e) }

// fate is chance that hangs on names alone: the same thing has the same fate, whenever it happens.
func (w *world) fate(names ...any) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, names...) // it never fails
	return rand.New(rand.NewPCG(w.plan.Seed, h.Sum64()))
}

func keys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }

// strike lets a fault of the plan happen.
func (w *world) strike(f Fault) {
	now := w.loom.now()
	p := w.processes[f.Process%len(w.processes)]
	w.trace.say(now, "FAULT %v", f)
	switch f.Kind {
	case Kill:
		w.kill(p)
	case KillAll:
		for _, p := range w.processes {
			w.kill(p)
		}
	case Stop:
		if p.life != nil {
			p.life.cancel()
		}
	case Freeze:
		if p.life != nil {
			p.life.frozen = now + f.For
		}
	case Cut:
		if p.life != nil {
			p.life.cut = now + f.For
		}
	case Step:
		w.skewed[p.n] = f.By
		if p.life != nil {
			p.life.skew = f.By
		}
	case Down:
		w.server.down = now + f.For
		w.loom.after(f.For, nil, "server restart", 0, w.server.restart)
	case Rules:
		w.rules.Add(1)
	case Full:
		w.server.full = now + f.For
	}
}

// calm ends all faults.
func (w *world) calm() {
	for _, p := range w.processes {
		w.skewed[p.n] = 0
		if p.life != nil {
			p.life.skew, p.life.cut, p.life.frozen = 0, 0, 0
		}
	}
	w.server.full = 0
}
