package telemetry

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// How often NATS is asked for metrics at most, and how long it may take.
const (
	lookEvery = 5 * time.Second
	lookTime  = 2 * time.Second
)

// Buses knows the connections of a process, and asks them how the bus is. Its methods may be called from any goroutine.
type Buses struct {
	specs map[string]bus.Spec // by service
	fails func()

	mu    sync.Mutex
	conns map[string]*bus.Conn // guarded by mu; by user

	looking sync.Mutex
	at      time.Time           // guarded by looking; of what follows
	lag     []bus.ConsumerState // guarded by looking
	journal *bus.Usage          // guarded by looking; nil: not known
	dead    *uint64             // guarded by looking; nil: not known
}

// Buses has p tell how the bus is. specs are of all services.
func (p *Process) Buses(specs []bus.Spec) *Buses {
	b := &Buses{specs: map[string]bus.Spec{}, conns: map[string]*bus.Conn{}, fails: p.probed.with().Inc}
	for _, s := range specs {
		b.specs[s.Name] = s
	}
	p.r.gauge(BusConnected, b.connected)
	p.r.sum(BusReconnects, b.reconnects)
	for name, value := range map[string]func(bus.ConsumerState) float64{
		ConsumerPending:     func(s bus.ConsumerState) float64 { return float64(s.Pending) },
		ConsumerAckPending:  func(s bus.ConsumerState) float64 { return float64(s.AckPending) },
		ConsumerAckLimit:    func(s bus.ConsumerState) float64 { return float64(s.MaxPending) },
		ConsumerRedelivered: func(s bus.ConsumerState) float64 { return float64(s.Redelivered) },
		ConsumerPaused:      func(s bus.ConsumerState) float64 { return one(s.PausedUntil.After(time.Now())) },
	} {
		p.r.gauge(name, func(emit func(float64, ...string)) {
			for _, s := range b.look().lag {
				emit(value(s), s.Stream, s.Name)
			}
		})
	}
	usage := func(name string, value func(bus.Usage) uint64) {
		p.r.gauge(name, func(emit func(float64, ...string)) {
			if u := b.look().journal; u != nil {
				emit(float64(value(*u)))
			}
		})
	}
	usage(JournalBytes, func(u bus.Usage) uint64 { return u.Bytes })
	usage(JournalLimit, func(u bus.Usage) uint64 { return u.MaxBytes })
	usage(JournalMessages, func(u bus.Usage) uint64 { return u.Messages })
	p.r.gauge(DeadLetters, func(emit func(float64, ...string)) {
		if n := b.look().dead; n != nil {
			emit(float64(*n))
		}
	})
	return b
}

// Track takes a new connection of a user in; the one before it is forgotten.
func (b *Buses) Track(user string, c *bus.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conns[user] = c
}

// tracked are the connections that are not closed, by user.
func (b *Buses) tracked() map[string]*bus.Conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make(map[string]*bus.Conn, len(b.conns))
	for user, c := range b.conns {
		if !c.NATS().IsClosed() {
			all[user] = c
		}
	}
	return all
}

// Lost are the users whose connection is not up, or is of no use ("turns: its consumer is gone"), sorted.
func (b *Buses) Lost() []string {
	var lost []string
	for user, c := range b.tracked() {
		if !c.NATS().IsConnected() {
			lost = append(lost, user)
		} else if why := c.Trouble(); why != "" {
			lost = append(lost, user+": "+why)
		}
	}
	slices.Sort(lost)
	return lost
}

func (b *Buses) connected(emit func(float64, ...string)) {
	for user, c := range b.tracked() {
		emit(one(c.NATS().IsConnected()), user)
	}
}

func (b *Buses) reconnects(emit func(float64, ...string)) {
	for user, c := range b.tracked() {
		emit(float64(c.NATS().Stats().Reconnects), user)
	}
}

// seen is what was found out when NATS was asked last.
type seen struct {
	lag     []bus.ConsumerState
	journal *bus.Usage
	dead    *uint64
}

// look asks again when that is long enough ago. Who comes meanwhile waits, and gets the same. What cannot be had is left out.
func (b *Buses) look() seen {
	b.looking.Lock()
	defer b.looking.Unlock()
	if time.Since(b.at) >= lookEvery {
		ctx, cancel := context.WithTimeout(context.Background(), lookTime)
		b.ask(ctx)
		cancel()
		b.at = time.Now()
	}
	return seen{b.lag, b.journal, b.dead}
}

// ask is called with looking held.
func (b *Buses) ask(ctx context.Context) {
	b.lag, b.journal, b.dead = nil, nil, nil
	for user, c := range b.tracked() {
		if !c.NATS().IsConnected() {
			continue
		}
		spec, isService := b.specs[user]
		if isService {
			lag, err := c.Lag(ctx, spec)
			b.note(err)
			for _, s := range lag {
				if s.Name != "" && !s.Missing && err == nil {
					b.lag = append(b.lag, s)
				}
			}
		}
		if b.journal == nil && (user == bus.Admin || isService && spec.ReadsJournal()) {
			u, err := c.Journal().Usage(ctx)
			if b.note(err); err == nil {
				b.journal = &u
			}
		}
		if b.dead == nil && (user == bus.Admin || isService && spec.CountsDead()) {
			n, err := c.DeadCount(ctx)
			if b.note(err); err == nil {
				b.dead = &n
			}
		}
	}
}

func (b *Buses) note(err error) {
	if err != nil && fault.KindOf(err) != fault.NotFound {
		b.fails()
	}
}
