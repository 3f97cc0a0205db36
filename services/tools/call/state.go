package call

import (
	"slices"

	"github.com/jetclaw/jetclaw/schemas/callv1"
)

// Version names the form of State and the meaning of Apply; snapshots of another version are dropped.
const Version = "4"

// maxAlways bounds how many decisions "always" a session remembers; the oldest are forgotten, and asked for again.
const maxAlways = 64

// State is the fold of one session. The zero value is a session that nobody has written to.
type State struct {
	Turn  string `json:"turn,omitempty"`  // whose calls are open
	Calls []Call `json:"calls,omitempty"` // not finished, in the order of their step; never written through
	Taint Taint  `json:"taint,omitzero"`
	// Foreign are the ids of messages with words or files of others that have no answer yet: a new beginning which was asked
	// for before they came does not make them unread. Never written through.
	Foreign []string          `json:"foreign,omitempty"`
	Always  []callv1.Approval `json:"always,omitempty"` // decisions "always", oldest first; never written through
}

// Phase is where a call stands.
type Phase string

// The phases.
const (
	Asked      Phase = "asked"      // by the model; nothing is decided
	Awaiting   Phase = "awaiting"   // a person's decision
	Allowed    Phase = "allowed"    // by a person
	Refused    Phase = "refused"    // by a person, or by nobody in time
	Dispatched Phase = "dispatched" // its executor has it
)

// Call is one open call.
type Call struct {
	ID        string           `json:"id"`
	Index     int              `json:"index"`
	Tool      string           `json:"tool"`
	Arguments string           `json:"arguments"` // JSON, as text: a snapshot must not reformat it
	Phase     Phase            `json:"phase"`
	Cause     string           `json:"cause"`              // id of the last event about it
	Request   *callv1.Request  `json:"request,omitempty"`  // Awaiting, Allowed: what the person was asked about, or has made of it
	Approval  *callv1.Approval `json:"approval,omitempty"` // Allowed
	By        string           `json:"by,omitempty"`       // Refused: id of the approval
	Reason    string           `json:"reason,omitempty"`   // Refused: what the model is told
}

// find is the place of an open call of the running turn, or -1.
func (s State) find(turn, id string) int {
	if turn == "" || turn != s.Turn {
		return -1
	}
	return slices.IndexFunc(s.Calls, func(c Call) bool { return c.ID == id })
}

// with is s with a changed call i.
func (s State) with(i int, change func(*Call)) State {
	s.Calls = slices.Clone(s.Calls)
	change(&s.Calls[i])
	return s
}

// without is s without call i.
func (s State) without(i int) State {
	rest := make([]Call, 0, len(s.Calls)-1)
	rest = append(append(rest, s.Calls[:i]...), s.Calls[i+1:]...)
	if s.Calls = rest; len(rest) == 0 {
		s.Calls, s.Turn = nil, ""
	}
	return s
}
