// Package machine is the vocabulary between a pure machine and the shell that runs it (bus/actor).
//
// A machine is two functions over a value S, its fold:
//
//	Apply(S, envelope.Event) S   folds one committed event; never fails, never validates
//	Next(S, View) Step           what the session needs now; nil when it is quiescent
//
// Work with an effect has three parts: the machine asks to append a claim, then (the claim being Mine) to perform, and
// the outcome of the effect is appended as an event that closes the claim. A claim names its owner and its deadline.
package machine

import (
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// View is all that a machine may know beside its fold.
type View struct {
	Now     time.Time
	Session session.ID
	Part    string // the part of the session that the lane works for; "" for machines that have one lane a session
	Worker  string // the instance that asks; goes into claims
	// Mine is the cursor of the open claim that this very run of the lane appended, else 0. A claim of the same
	// worker that an earlier run appended is not mine: its effect may have happened.
	Mine uint64
	// Gone is the cursor of a claim of somebody else whose owner is known to have let go of it, else 0.
	Gone uint64
}

// Step is what a session needs: Append, Perform, Held or Wait; nil when nothing is to be done until news comes.
//
//sumtype:decl
type Step interface{ step() }

// Append asks to append one event by compare-and-set, then to be asked again.
type Append struct {
	Body  envelope.Body
	Cause string // ID of the event that led to the decision
	Claim bool   // Body claims the effect that Perform will ask for
	// Beside leaves the open claim alone, whoever has it: an effect that runs goes on while Body is appended.
	Beside bool
	Tell   string // the worker whose open claim Body closes, if that is another's: it is nudged; lossy
}

// Perform asks for the effect announced by the open claim at cursor Claim, which is Mine. The effect is cancelled at
// Deadline, when the machine no longer asks for it, or when the claim is lost.
type Perform struct {
	Claim    uint64
	Deadline time.Time
}

// Held says that the next step belongs to the owner of an open claim.
type Held struct {
	Claim    uint64
	Worker   string    // the owner
	Since    time.Time // Time of the claiming event
	Deadline time.Time
	Attempt  int // 1 for the first
}

// Wait says that nothing is to be done before Until.
type Wait struct{ Until time.Time }

func (Append) step()  {}
func (Perform) step() {}
func (Held) step()    {}
func (Wait) step()    {}
