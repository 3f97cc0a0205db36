package judge

import (
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Message is one message as its sender saw it: accepted, and answered or not.
type Message struct {
	Session session.ID `json:"session"`
	ID      string     `json:"id"` // of its event
	Key     string     `json:"key"`
	Marker  string     `json:"marker"`
	Status  string     `json:"status"` // of the reply: "completed", "failed", …; "" when no final one came
	Text    string     `json:"text"`
}

// Command is one command as its sender saw it.
type Command struct {
	Session session.ID `json:"session"`
	ID      string     `json:"id"` // of its event
	Text    string     `json:"text"`
	Status  string     `json:"status"` // of the reply, "" when no final one came
}

// Evidence of one run, taken after it has come to rest.
type Evidence struct {
	Messages []Message // in the order of sending within each session
	Commands []Command
	Journal  []envelope.Event // all of it, by cursor
	Queue    string           // the agent's queue mode; "" is followup
	Pushed   map[string]int   // pushed replies by marker; nil when nobody was there to receive
	Asked    map[string]int   // requests to the model by marker; nil when not known
	MayFail  bool             // the model fails by plan
	Again    map[string]bool  // tools whose calls may be carried out twice
	Lines    map[string]int   // what calls have written, line by line, and how often; nil when not known
	// Decisions are all answers to approvals that anybody gave; nil when not known.
	Decisions []Decision
}

// Kind is the promise that was broken.
type Kind string

// The promises of the package's comment.
const (
	Lost       Kind = "lost"
	Doubled    Kind = "doubled"
	Disordered Kind = "disordered"
	Stuck      Kind = "stuck"
	Broken     Kind = "broken"
	Wrong      Kind = "wrong"
	Failed     Kind = "failed"
)

// Otherwise is said by whoever has the journal decided again: an event would be another one today. Judge never finds it.
const Otherwise Kind = "otherwise"

// Kinds lists those that Judge finds, as a report does.
func Kinds() []Kind { return []Kind{Lost, Doubled, Disordered, Stuck, Broken, Wrong, Failed} }

// Violation is one broken promise.
type Violation struct {
	Kind    Kind       `json:"kind"`
	Session session.ID `json:"session"`
	Cursor  uint64     `json:"cursor,omitempty"`
	Text    string     `json:"text"`
}

// Counts are what a run consisted of.
type Counts struct {
	Accepted  int            `json:"accepted"` // messages with a 202
	Sessions  int            `json:"sessions"`
	Events    map[string]int `json:"events"` // by kind
	Failures  map[string]int `json:"failures"`
	Pushed    int            `json:"pushed"`
	Repeated  int            `json:"repeated"` // pushes beyond the first, recorded as unknown
	Takeovers int            `json:"takeovers"`
	Steered   int            `json:"steered"`    // messages that joined a turn that ran
	Fallbacks int            `json:"fallbacks"`  // model calls that another model answered than the one asked first
	Rounds    int            `json:"rounds_max"` // of a turn
	Stopped   int            `json:"stopped"`    // messages that a stop cancelled
	Interrupt int            `json:"interrupted"`
	Calls     int            `json:"calls"`       // of tools, that left their turn
	Again     int            `json:"calls_again"` // claims beyond the first
	Outcomes  map[string]int `json:"outcomes"`    // of calls
	Approvals int            `json:"approvals"`   // that a person was asked for
	Answers   map[string]int `json:"answers"`     // what these came to, by the kind of the event
}

func (c Counts) outcome(name string) { c.Outcomes[name]++ }

// Verdict is all that was found.
type Verdict struct {
	Violations []Violation `json:"violations"`
	Counts     Counts      `json:"counts"`
}

// Of counts the violations of a kind.
func (v Verdict) Of(k Kind) int {
	n := 0
	for _, x := range v.Violations {
		if x.Kind == k {
			n++
		}
	}
	return n
}

// Restart is one kill and what followed, by the clock of this machine.
type Restart struct {
	Killed  time.Time `json:"killed"`
	Started time.Time `json:"started"` // the next process was executed
	Ready   time.Time `json:"ready"`   // it answered
}
