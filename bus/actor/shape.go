package actor

import (
	"context"
	"errors"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// What is below works with pointers to states, whatever the states are. All pointers have one shape to the compiler, so that the
// shell is compiled once for all machines instead of once for each: half a megabyte of the binary. nil is the zero state, and no
// state is written to once it is pointed at.

// Actor runs one machine for all sessions whose bells reach this process.
type Actor[S any] struct{ shell *shell[*S] }

// New makes the actor of a service on its connection.
func New[S any](m Machine[S], c *bus.Conn, spec bus.Spec, o Options) (*Actor[S], error) {
	if c == nil {
		return nil, errors.New("an actor needs a connection")
	}
	return NewOn(m, OnBus(c, spec), spec, o)
}

// NewOn makes an actor on given ports.
func NewOn[S any](m Machine[S], p Ports, spec bus.Spec, o Options) (*Actor[S], error) {
	a, err := newShell(pointing(m), p, spec, o)
	if err != nil {
		return nil, err
	}
	return &Actor[S]{a}, nil
}

// Run consumes bells until ctx ends; then running effects may finish within Options.Drain, the rest is handed back, and
// Run returns when no goroutine of the actor is left. It may be called once.
func (a *Actor[S]) Run(ctx context.Context) error { return a.shell.Run(ctx) }

// Ready returns once the actor consumes its bells, or with ctx's error.
func (a *Actor[S]) Ready(ctx context.Context) error { return a.shell.Ready(ctx) }

// Fold is the state of a session; see Folder.Fold.
func (a *Actor[S]) Fold(ctx context.Context, s session.ID, upto uint64) (S, uint64, error) {
	return pointedAt(a.shell.folds.Fold(ctx, s, upto))
}

// Folder folds sessions: from its cache, else the snapshot, then along jc-prev. Safe for concurrent use.
type Folder[S any] struct{ folds *folds[*S] }

// NewFolder makes a folder on the connection of a service. version changes whenever S or apply does.
func NewFolder[S any](c *bus.Conn, spec bus.Spec, version string, apply func(S, envelope.Event) S) *Folder[S] {
	return &Folder[S]{newFolds(OnBus(c, spec), version, applying(apply), DefaultCache())}
}

// Fold is the state of a session up to a cursor of its own, or further if more is known; upto 0 means its last event.
// An error means that the state could not be read, never that it is short.
func (f *Folder[S]) Fold(ctx context.Context, s session.ID, upto uint64) (S, uint64, error) {
	return pointedAt(f.folds.Fold(ctx, s, upto))
}

func pointing[S any](m Machine[S]) Machine[*S] {
	p := Machine[*S]{Service: m.Service, Version: m.Version, Part: m.Part, Rules: m.Rules}
	if m.Apply != nil {
		p.Apply = applying(m.Apply)
	}
	if m.Next != nil {
		p.Next = func(s *S, v machine.View) machine.Step { return m.Next(valueOf(s), v) }
	}
	if m.Perform != nil {
		p.Perform = func(ctx context.Context, w Work[*S]) (envelope.Body, error) {
			return m.Perform(ctx, Work[S]{Session: w.Session, State: valueOf(w.State), Claim: w.Claim, Deadline: w.Deadline})
		}
	}
	return p
}

func applying[S any](apply func(S, envelope.Event) S) func(*S, envelope.Event) *S {
	return func(s *S, ev envelope.Event) *S {
		next := apply(valueOf(s), ev)
		return &next
	}
}

func valueOf[S any](s *S) S {
	if s == nil {
		var zero S
		return zero
	}
	return *s
}

func pointedAt[S any](s *S, cursor uint64, err error) (S, uint64, error) {
	return valueOf(s), cursor, err
}
