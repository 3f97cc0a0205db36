package actor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Journal is what a fold and a lane need of the journal; see bus.Journal for the errors.
type Journal interface {
	Stamp(e *envelope.Event)
	Append(ctx context.Context, e envelope.Event) (uint64, error)
	Get(ctx context.Context, cursor uint64) (envelope.Event, error)
	Last(ctx context.Context, s session.ID) (uint64, error)
}

// Snapshots keep folded states between runs.
type Snapshots interface {
	LoadSnapshot(ctx context.Context, s session.ID) (bus.Snapshot, bool, error)
	SaveSnapshot(ctx context.Context, s session.ID, snap bus.Snapshot) error
	DropSnapshot(ctx context.Context, s session.ID) error
}

// Bells deliver doorbells until ctx ends.
type Bells interface {
	Doorbells(ctx context.Context, spec bus.Spec, ring func(bus.Bell)) error
	// Backlog lists, newest event of each part of each session, what was delivered before and is perhaps not acked. A
	// part of nil: a session has one.
	Backlog(ctx context.Context, spec bus.Spec, part func(envelope.Event) string) ([]envelope.Event, error)
}

// Peers are the other workers of the same service.
type Peers interface {
	AskWorker(ctx context.Context, instance string, ref bus.ClaimRef) bus.Answer
	Nudge(instance string, ref bus.ClaimRef) error
	AnswerWorkers(ctx context.Context, busy func(bus.ClaimRef) bool, nudge func(bus.ClaimRef)) error
}

// Timers ring a session later.
type Timers interface {
	SetTimer(ctx context.Context, s session.ID, at time.Time) error
}

// Ports are all that an actor touches of the world. OnBus makes them of a connection.
type Ports struct {
	Journal   Journal
	Bells     Bells
	Peers     Peers
	Snapshots Snapshots // nil: none are kept
	Timers    Timers    // nil: waits longer than a nak may last go on in steps
	Instance  string    // this worker, as its claims name it
	Log       *slog.Logger
	Seams     Seams
	Hooks     bus.Hooks // for metrics and traces; the zero value is silent
}

// OnBus makes ports of the connection of a service.
func OnBus(c *bus.Conn, spec bus.Spec) Ports {
	p := Ports{
		Journal: c.Journal(), Bells: c, Peers: c, Instance: c.Instance(), Log: c.Log(), Seams: Seams{Now: c.Now}, Hooks: c.Hooks(),
	}
	if spec.Snapshots {
		p.Snapshots = c
	}
	if spec.Timers {
		p.Timers = c
	}
	return p
}

func (p Ports) validate() error {
	if p.Journal == nil || p.Bells == nil || p.Peers == nil || p.Instance == "" || p.Log == nil {
		return errors.New("an actor needs a journal, bells, peers, an instance name and a logger")
	}
	return nil
}
