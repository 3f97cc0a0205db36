package mcp

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// bells are the doorbells of the service and of all its executors, as those of one actor. Executors may come and go while it runs.
type bells struct {
	conn *bus.Conn
	log  *slog.Logger
	news chan struct{} // of size 1: wanted has changed
	// on hears of each event that rings, before the actor does.
	on func(envelope.Event)

	mu     sync.Mutex
	wanted map[string]bool // guarded by mu; executors whose calls are taken
	ring   func(bus.Bell)  // guarded by mu; nil while nobody listens
}

func newBells(c *bus.Conn, log *slog.Logger) *bells {
	return &bells{conn: c, log: log, news: make(chan struct{}, 1), wanted: map[string]bool{}, on: func(envelope.Event) {}}
}

// want has the calls of an executor taken, or left.
func (b *bells) want(executor string, yes bool) {
	b.mu.Lock()
	if yes {
		b.wanted[executor] = true
	} else {
		delete(b.wanted, executor)
	}
	b.mu.Unlock()
	select {
	case b.news <- struct{}{}:
	default:
	}
}

func (b *bells) list() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]string, 0, len(b.wanted))
	for name := range b.wanted {
		all = append(all, name)
	}
	return all
}

// Doorbells implements actor.Bells.
func (b *bells) Doorbells(ctx context.Context, spec bus.Spec, ring func(bus.Bell)) error {
	b.set(func(bell bus.Bell) {
		b.on(bell.Event())
		ring(bell)
	})
	defer b.set(nil)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.conn.Doorbells(ctx, spec, b.pass) })
	g.Go(func() error {
		b.follow(ctx)
		return nil
	})
	return g.Wait()
}

func (b *bells) set(ring func(bus.Bell)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ring = ring
}

func (b *bells) pass(bell bus.Bell) {
	b.mu.Lock()
	ring := b.ring
	b.mu.Unlock()
	if ring != nil {
		ring(bell)
	}
}

// follow takes the calls of the executors that are wanted, each beside the others, until ctx ends.
func (b *bells) follow(ctx context.Context) {
	running := map[string]context.CancelFunc{}
	var readers sync.WaitGroup
	defer readers.Wait()
	for {
		wanted := map[string]bool{}
		for _, name := range b.list() {
			wanted[name] = true
			if running[name] == nil {
				one, stop := context.WithCancel(ctx)
				running[name] = stop
				readers.Go(func() { b.take(one, name) })
			}
		}
		for name, stop := range running {
			if !wanted[name] {
				stop()
				delete(running, name)
			}
		}
		select {
		case <-ctx.Done():
			for _, stop := range running {
				stop()
			}
			return
		case <-b.news:
		}
	}
}

// takeAgain is how long an executor without a consumer is left alone: its owner makes it when the configuration names it.
const takeAgain = 200 * time.Millisecond

// takePatience is how long its owner has for that before it is worth a word.
const takePatience = 5 * time.Second

// take takes the calls of one executor until ctx ends.
func (b *bells) take(ctx context.Context, executor string) {
	spec := bus.Executor{Name: executor}.Spec()
	began := time.Now()
	for told := false; ctx.Err() == nil; {
		err := b.conn.Doorbells(ctx, spec, b.pass)
		if err == nil || ctx.Err() != nil {
			return
		}
		if !told && time.Since(began) > takePatience {
			told = true
			b.log.Warn("an executor has no consumer yet, and its calls wait; on a cluster `jetclaw topology apply` makes it",
				"executor", executor, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(takeAgain):
		}
	}
}

// Backlog implements actor.Bells.
func (b *bells) Backlog(ctx context.Context, spec bus.Spec, part func(envelope.Event) string) ([]envelope.Event, error) {
	all, err := b.conn.Backlog(ctx, spec, part)
	if err != nil {
		return nil, err
	}
	for _, name := range b.list() {
		events, err := b.conn.Backlog(ctx, bus.Executor{Name: name}.Spec(), part)
		if err != nil {
			b.log.Debug("calls of an earlier process come when their time is over", "executor", name, "error", err)
			continue
		}
		all = append(all, events...)
	}
	return all, nil
}

// again rings for an event that no consumer delivers now.
func (b *bells) again(spawn func(func(context.Context)), ev envelope.Event) {
	b.pass(actor.NewEcho(ev, func(bell bus.Bell, after time.Duration) {
		spawn(func(ctx context.Context) {
			select {
			case <-ctx.Done():
			case <-time.After(after):
				b.pass(bell)
			}
		})
	}))
}

var errNoServer = errors.New("is not configured")
