package sim

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

// server is the NATS server: the journal, the consumers with their un-acked bells, the timers and the snapshots. All of it is on
// its disk, and outlives it. It is the loom's alone: nothing here is guarded.
type server struct {
	w *world

	events  []envelope.Event // cursor n is events[n-1]
	last    map[session.ID]uint64
	byKey   map[string]uint64 // Nats-Msg-Id
	threads map[session.ID]thread.State
	snaps   map[place]bus.Snapshot
	rings   map[string]*consumer // by service
	timers  map[place]*bell      // that have not rung, and the bells of those that have

	minute time.Duration // the present one
	set    map[place]int // how often timers were set in it

	down time.Duration // until then it is away
	full time.Duration // until then it has no room
}

// place is one service's view of one session.
type place struct {
	service string
	session session.ID
}

// consumer delivers the bells of one service.
type consumer struct {
	spec  bus.Spec
	bells map[uint64]*bell // un-acked, by number
	floor uint64           // highest cursor that was delivered
	acked []envelope.Event // the last ones; a server that comes back may have forgotten that
}

// bell is one un-acked doorbell, or a timer.
type bell struct {
	n          uint64
	service    string
	event      envelope.Event
	timer      bool
	rung       bool // of a timer
	deliveries int
	plan       uint64 // which of its planned deliveries counts
}

func newServer(w *world) *server {
	return &server{
		w: w, last: map[session.ID]uint64{}, byKey: map[string]uint64{}, threads: map[session.ID]thread.State{},
		snaps: map[place]bus.Snapshot{}, rings: map[string]*consumer{}, timers: map[place]*bell{}, set: map[place]int{},
	}
}

func (s *server) away() bool { return s.w.loom.now() < s.down }

// append stores an event by compare-and-set.
func (s *server) append(e envelope.Event) (uint64, error) {
	last := s.last[e.Session]
	if e.Key != "" {
		if at, ok := s.byKey[string(e.Session)+"|"+e.Key]; ok {
			return at, nil
		}
	}
	if last != e.Prev && !s.w.tamper.blind {
		return 0, &bus.Conflict{Last: last, Known: !s.w.noisy() || !s.w.loom.chance(0.1)}
	}
	if s.w.loom.now() < s.full {
		return 0, fault.New(fault.Full, "no room")
	}
	stored, err := wire(e, uint64(len(s.events)+1))
	if err != nil {
		return 0, err
	}
	if e.Key != "" {
		s.byKey[string(e.Session)+"|"+e.Key] = stored.Cursor
	}
	s.events = append(s.events, stored)
	s.last[e.Session] = stored.Cursor
	s.threads[e.Session] = s.threads[e.Session].Apply(stored)
	s.w.trace.text(stored.ID)
	s.w.trace.text(stored.Type())
	s.w.trace.event(s.w.loom.now(), stored)
	for _, service := range services {
		if c := s.rings[service]; c.spec.RungBy(stored) {
			s.deliverIn(s.w.loom.between(20*time.Microsecond, 300*time.Microsecond), c.add(s, stored))
		}
	}
	s.w.stored(stored)
	return stored.Cursor, nil
}

// wire sends an event through its form on the wire.
func wire(e envelope.Event, cursor uint64) (envelope.Event, error) {
	data, err := json.Marshal(e.Body)
	if err != nil {
		return envelope.Event{}, err
	}
	return envelope.Decode(e.Subject(), envelope.HeaderOf(e), data, cursor, registry.Decode)
}

func (s *server) get(cursor uint64) (envelope.Event, error) {
	if cursor == 0 || cursor > uint64(len(s.events)) {
		return envelope.Event{}, bus.ErrNoEvent
	}
	return s.events[cursor-1], nil
}

func (c *consumer) add(s *server, e envelope.Event) *bell {
	s.w.numbers++
	b := &bell{n: s.w.numbers, service: c.spec.Name, event: e}
	c.bells[b.n] = b
	return b
}

// deliverIn plans the next delivery of a bell; an earlier plan is void.
func (s *server) deliverIn(d time.Duration, b *bell) {
	b.plan++
	plan := b.plan
	what := "deliver " + b.service
	s.w.loom.after(d, nil, what, b.n, func() {
		if b.plan == plan && s.rings[b.service].bells[b.n] == b {
			s.deliver(b)
		}
	})
}

// deliver sends a bell to one of the workers that listen.
func (s *server) deliver(b *bell) {
	var open []*port
	for _, p := range s.w.processes {
		if p.life != nil && !p.life.dead.Load() {
			if k := p.life.ports[b.service]; k != nil && k.ring != nil {
				open = append(open, k)
			}
		}
	}
	if len(open) == 0 || s.away() {
		s.deliverIn(s.w.loom.between(50*time.Millisecond, 200*time.Millisecond), b)
		return
	}
	if b.timer {
		s.rang(b)
	}
	b.deliveries++
	c := s.rings[b.service]
	c.floor = max(c.floor, b.event.Cursor)
	s.deliverIn(bus.AckWait, b)
	k := open[s.w.loom.rng.IntN(len(open))]
	k.deliver(b)
	if s.w.noisy() && s.w.loom.chance(0.01) {
		open[s.w.loom.rng.IntN(len(open))].deliver(b)
	}
}

// rang: a timer that has rung is a bell in the place of one that rang before.
func (s *server) rang(b *bell) {
	if b.rung {
		return
	}
	b.rung = true
	at := place{b.service, b.event.Session}
	if s.timers[at] == b {
		delete(s.timers, at)
	}
	for n, o := range s.rings[b.service].bells {
		if o != b && o.timer && o.rung && o.event.Session == b.event.Session {
			delete(s.rings[b.service].bells, n)
		}
	}
}

// busyTimers is how often no service has a reason to set a session's timer in a minute.
const busyTimers = 100

// setTimer stores a timer in the place of the one that the session has.
func (s *server) setTimer(service string, id session.ID, at time.Time) {
	p := place{service, id}
	if minute := s.w.loom.now() / time.Minute; s.minute != minute {
		s.minute, s.set = minute, map[place]int{}
	}
	if s.set[p]++; s.set[p] == busyTimers {
		s.w.wrong("%s sets timers for %s without an end: %d in a minute", service, id, busyTimers)
	}
	c := s.rings[service]
	if old := s.timers[p]; old != nil {
		delete(c.bells, old.n)
	}
	b := c.add(s, envelope.Event{Session: id})
	b.timer = true
	s.timers[p] = b
	s.deliverIn(max(time.Until(at), 0)+s.w.loom.between(time.Millisecond, 100*time.Millisecond), b)
}

// backlog is the newest doorbell of each part of each session that was delivered and is perhaps not acked.
func (s *server) backlog(service string, part func(envelope.Event) string) []envelope.Event {
	c := s.rings[service]
	floor := c.floor + 1
	for _, b := range c.bells {
		if !b.timer {
			floor = min(floor, b.event.Cursor)
		}
	}
	type lane struct {
		session session.ID
		part    string
	}
	newest := map[lane]envelope.Event{}
	for _, e := range s.events[min(floor-1, uint64(len(s.events))):min(c.floor, uint64(len(s.events)))] {
		if !c.spec.RungBy(e) {
			continue
		}
		l := lane{session: e.Session}
		if part != nil {
			l.part = part(e)
		}
		newest[l] = e
	}
	all := make([]envelope.Event, 0, len(newest))
	for _, e := range newest {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b envelope.Event) int { return int(a.Cursor) - int(b.Cursor) })
	return all
}

const rememberedAcks = 16

// ack takes a bell away.
func (s *server) ack(b *bell) {
	c := s.rings[b.service]
	if c.bells[b.n] != b {
		return
	}
	delete(c.bells, b.n)
	if !b.timer {
		c.acked = append(c.acked[max(0, len(c.acked)+1-rememberedAcks):], b.event)
	}
}

// restart brings the server back: what was delivered comes again at once, and some of what was acked last, too, as a server
// writes down at leisure what was acked.
func (s *server) restart() {
	for _, service := range services {
		c := s.rings[service]
		for _, n := range slices.Sorted(keys(c.bells)) {
			if b := c.bells[n]; b.deliveries > 0 {
				s.deliverIn(s.w.loom.between(10*time.Millisecond, time.Second), b)
			}
		}
		for _, e := range c.acked[s.w.loom.rng.IntN(len(c.acked)+1):] {
			b := c.add(s, e)
			b.deliveries = 1
			s.deliverIn(s.w.loom.between(10*time.Millisecond, time.Second), b)
		}
		c.acked = nil
	}
}

// quiet says that no bell is un-acked and no timer waits.
func (s *server) quiet() bool {
	for _, c := range s.rings {
		if len(c.bells) > 0 {
			return false
		}
	}
	return true
}
