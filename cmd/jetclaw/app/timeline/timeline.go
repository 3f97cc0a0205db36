package timeline

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Timeline is one session, explained.
type Timeline struct {
	Session session.ID `json:"session"`
	At      time.Time  `json:"at"` // what is open is counted until then
	Events  int        `json:"events"`
	First   uint64     `json:"first"` // cursors
	Last    uint64     `json:"last"`
	Waiting []Wait     `json:"waiting"` // what it waits for now, most important first; at least one
	Totals  Totals     `json:"totals"`
	Holes   []Hole     `json:"holes,omitempty"`
	Entries []*Entry   `json:"entries"`
}

// Span is a duration; in JSON it is a number of milliseconds, with microseconds behind the point.
type Span time.Duration

// MarshalJSON writes milliseconds.
func (s Span) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Duration(s).Microseconds())/1000, 'f', -1, 64), nil
}

// UnmarshalJSON is its inverse.
func (s *Span) UnmarshalJSON(data []byte) error {
	var ms float64
	if err := json.Unmarshal(data, &ms); err != nil {
		return err
	}
	*s = Span(ms * float64(time.Millisecond))
	return nil
}

// Kind is what an entry is.
type Kind string

// The kinds. Groups have no cursor of their own: their events are among their entries.
const (
	MessageKind    Kind = "message" // an event, and what it led to
	ControlKind    Kind = "control" // a command to the session, likewise
	EventKind      Kind = "event"
	HoleKind       Kind = "hole"       // an event that is not in the journal
	TurnKind       Kind = "turn"       // a group
	RoundKind      Kind = "round"      // a group: one model call, with the tool calls that it asked for
	CallKind       Kind = "call"       // a group: one tool call
	ApprovalKind   Kind = "approval"   // a group
	DeliveryKind   Kind = "delivery"   // a group: one thing that is shown
	CompactionKind Kind = "compaction" // a group
)

// Entry is an event or a group of them.
type Entry struct {
	Kind    Kind      `json:"kind"`
	Cursor  uint64    `json:"cursor,omitempty"` // 0: a group, or a hole
	Type    string    `json:"type,omitempty"`   // of the event, on the wire
	ID      string    `json:"id"`
	Time    time.Time `json:"time,omitzero"`     // a group's is that of its first event
	Offset  Span      `json:"offset_ms"`         // since the message, command or event that it stands under
	Took    Span      `json:"took_ms,omitempty"` // of a group; while it is open, until At
	Open    bool      `json:"open,omitempty"`    // it has not come to its end
	Cause   uint64    `json:"cause,omitempty"`   // cursor of the event that led to it; 0: not in the session
	Text    string    `json:"text,omitempty"`    // one line; untrusted
	Facts   Facts     `json:"facts,omitempty"`   // by Kind; nil for plain events
	Entries []*Entry  `json:"entries,omitempty"`

	parent *Entry
	paid   []envelope.Event // of a group: outcomes of model calls
}

// Facts are what a group is about: Message, Turn, Round, Call, Approval, Delivery, Compaction or Hole.
//
//sumtype:decl
type Facts interface{ facts() }

// Message is something that a person wrote.
type Message struct {
	From   string `json:"from"`
	Name   string `json:"name,omitempty"`  // as the channel shows the person; untrusted
	Turn   string `json:"turn,omitempty"`  // that answers it
	Waited Span   `json:"waited_ms"`       // until a turn took it, or until it was given up
	Waits  bool   `json:"waits,omitempty"` // it still does
	asked  bool   // a turn has taken it, or it was given up
	Ended  string `json:"ended,omitempty"` // why no turn answers it
}

// Turn is what was done about one or more messages.
type Turn struct {
	Number   int      `json:"number"` // in the session, as far as the journal has it; from 1
	Messages []string `json:"messages"`
	Rounds   int      `json:"rounds"`
	Calls    int      `json:"calls"`
	Outcome  string   `json:"outcome,omitempty"` // completed, failed, cancelled, deleted; "" while it runs
	Cause    string   `json:"cause,omitempty"`   // of a failure or of its end
	Spent    Spent    `json:"spent"`
}

// Round is one model call.
type Round struct {
	Turn     string       `json:"turn"`
	Round    int          `json:"round"`
	Attempts int          `json:"attempts"` // 1, and one for each take-over
	Worker   string       `json:"worker,omitempty"`
	Deadline time.Time    `json:"deadline,omitzero"` // of the last attempt
	Model    string       `json:"model,omitempty"`   // that answered
	Tried    []turnv1.Try `json:"tried,omitempty"`   // before it
	Outcome  string       `json:"outcome,omitempty"` // stepped, completed, failed, overflowed, cancelled, deleted; "" while it runs
	Cause    string       `json:"cause,omitempty"`   // of a failure
	Detail   string       `json:"detail,omitempty"`
	Asked    Span         `json:"model_ms"` // in the model: what lies between a worker's death and the take-over does not count
	Spent    Spent        `json:"spent"`
	claimed  time.Time
}

// Call is one tool call.
type Call struct {
	Turn      string    `json:"turn"`
	Call      string    `json:"call"`
	Tool      string    `json:"tool"`
	Arguments string    `json:"arguments,omitempty"` // cut; untrusted
	Level     string    `json:"level,omitempty"`
	Rule      string    `json:"rule,omitempty"` // what decided
	Executor  string    `json:"executor,omitempty"`
	Attempts  int       `json:"attempts"`
	Worker    string    `json:"worker,omitempty"`
	Deadline  time.Time `json:"deadline,omitzero"` // of the last attempt
	Outcome   string    `json:"outcome,omitempty"` // ok, error, unknown, …, denied, refused, answered, cancelled; "" while it is open
	Reason    string    `json:"reason,omitempty"`  // of a denial
	Queued    Span      `json:"queued_ms"`         // between the gate and the executor
	Ran       Span      `json:"ran_ms"`            // in the tool
	handed    time.Time // dispatched, and not started
	started   time.Time // and not completed
	handedAt  uint64
	startedAt uint64
}

// Approval is one question to a person.
type Approval struct {
	Approval  string    `json:"approval"`
	Tool      string    `json:"tool,omitempty"`
	Approvers []string  `json:"approvers,omitempty"`
	Expires   time.Time `json:"expires,omitzero"`
	Outcome   string    `json:"outcome,omitempty"` // allow-once, allow-always, deny, expired, cancelled, voided, deleted; "" while it is open
	By        string    `json:"by,omitempty"`
	Edited    bool      `json:"edited,omitempty"` // the person has changed the arguments
	Reason    string    `json:"reason,omitempty"`
	Waited    Span      `json:"waited_ms"` // for the person
	asked     time.Time
}

// Delivery is one thing that is shown to a person.
type Delivery struct {
	Of       uint64    `json:"of,omitempty"` // cursor of the event that is shown
	Channel  string    `json:"channel"`
	Attempts int       `json:"attempts"`
	Failures int       `json:"failures,omitempty"` // attempts that did not arrive
	Parts    int       `json:"parts,omitempty"`    // that were sent, when it has several
	Outcome  string    `json:"outcome,omitempty"`  // sent, failed, held, deleted; "" while it is open
	Receipt  string    `json:"receipt,omitempty"`  // the channel's own id
	Reason   string    `json:"reason,omitempty"`   // of the last failure
	Until    time.Time `json:"until,omitzero"`     // when the next attempt is due
	Repeat   bool      `json:"repeat,omitempty"`   // it may have arrived twice
}

// Compaction is a model call that replaces turns by a summary.
type Compaction struct {
	Attempts int       `json:"attempts"`
	Turns    int       `json:"turns,omitempty"`
	Worker   string    `json:"worker,omitempty"`
	Deadline time.Time `json:"deadline,omitzero"`
	Model    string    `json:"model,omitempty"`
	Outcome  string    `json:"outcome,omitempty"` // compacted, failed, superseded, deleted; "" while it runs
	Cause    string    `json:"cause,omitempty"`
	Detail   string    `json:"detail,omitempty"`
	Spent    Spent     `json:"spent"`
	claimed  time.Time
}

// Hole is a place where the chain is broken.
type Hole struct {
	Above   uint64 `json:"above"`   // cursor of the event above it
	Missing uint64 `json:"missing"` // cursor that it follows on, and that is not there
}

func (*Message) facts()    {}
func (*Turn) facts()       {}
func (*Round) facts()      {}
func (*Call) facts()       {}
func (*Approval) facts()   {}
func (*Delivery) facts()   {}
func (*Compaction) facts() {}
func (*Hole) facts()       {}
