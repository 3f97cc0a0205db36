package actor

import (
	"context"
	"errors"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Machine is a pure machine and the effect that its claims announce. S is the fold of one session; its zero value is a
// session that nobody has written to.
type Machine[S any] struct {
	Service string // owner of its events; names its consumer, snapshots and workers
	Version string // changes whenever S or Apply changes: snapshots of another version are dropped
	Apply   func(S, envelope.Event) S
	Next    func(S, machine.View) machine.Step
	// Part names the part of its session that an event which rings belongs to: each part has a lane, and so a claim, of
	// its own beside the others; they share the fold. A timer rings part "". nil: all is part "", one lane a session.
	// What an event asks for has to be a step of its part, or of one that another event rings: its bell is acked when its
	// part has no step.
	Part func(envelope.Event) string
	// Rules names what Next is configured with for a session, by a digest: its events carry it (envelope.Event.Rules), so that
	// they can be decided again later. See Rulebook. nil: nothing that matters.
	Rules func(session.ID) string
	// Perform does the effect of an open claim and returns the event that closes it. An error means that no outcome
	// could be found out: the claim stays open and is taken over, by this worker too; the machine has to bound how often.
	// A panic counts as an error. ctx ends at the claim's deadline, when the
	// claim is lost (cause ErrFenced), or when the machine asks for something else (cause ErrWithdrawn).
	// nil for a machine without effects.
	Perform func(ctx context.Context, w Work[S]) (envelope.Body, error)
}

// Work is one effect to perform.
type Work[S any] struct {
	Session  session.ID
	State    S              // the fold up to the claim, and what came before the effect began
	Claim    envelope.Event // the event that claims the effect, as appended
	Deadline time.Time      // by the clock of this process that nobody sets: for contexts, and never to be written down
}

// Causes of the end of an effect's context.
var (
	ErrFenced    = errors.New("another worker has taken over")
	ErrWithdrawn = errors.New("the effect is no longer wanted")
)

func (m Machine[S]) validate() error {
	switch {
	case m.Service == "":
		return errors.New("a machine needs a service name")
	case m.Apply == nil || m.Next == nil:
		return errors.New("a machine needs Apply and Next")
	}
	return nil
}
