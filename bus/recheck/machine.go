package recheck

import (
	"encoding/json"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Machine is one service's machine as it is asked about a journal. Each service that has one makes it: turns.Recheck.
type Machine interface {
	Service() string
	// Owns says whether an event of this kind ("turn.started", "notice.posted.turns") is appended by the service.
	Owns(ev envelope.Event) bool
	// On is the machine before the first event of a session.
	On(s session.ID) Fold
}

// Fold is one machine's state of one session. Not safe for concurrent use.
type Fold interface {
	// Check holds an event that the service has appended against what the machine would do on what was folded so far. It
	// does not fold it.
	Check(ev envelope.Event) Verdict
	// Apply folds an event, whoever's it is.
	Apply(ev envelope.Event)
	// State is the fold, fit to be shown as JSON.
	State() any
	// Due is what the machine wants at a time, by each part of the session; empty when it is quiescent. A machine.Wait or
	// machine.Held among it is nothing that anybody has to do now.
	Due(now time.Time) []Due
}

// Due is a step that a machine wants.
type Due struct {
	Service string
	Part    string // machine.View.Part
	Step    machine.Step
}

// Rules find what a machine was configured with, by the digest that its events carry; nil when that is not known.
type Rules func(service, digest string) json.RawMessage

// Result is what became of one check.
type Result string

// The results.
const (
	Same      Result = "same"      // today's machine appends this very event
	Given     Result = "given"     // nobody decides it: a fact from outside, or what an effect brought, which was asked for
	Different Result = "different" // today's machine does something else
	Newer     Result = "newer"     // written by a newer jetclaw: it cannot be read, and what follows in its session cannot be judged
)

// Verdict is one check's result. Of Different, Differences say where, the first field first.
type Verdict struct {
	Result      Result       `json:"result"`
	Differences []Difference `json:"differences,omitempty"`
}

// Difference is one field of an event, then and now. Values are JSON; "" where the field is missing.
type Difference struct {
	Field string `json:"field"` // "type", "cause", "data.answers[0]"
	Then  string `json:"then"`
	Now   string `json:"now"`
}
