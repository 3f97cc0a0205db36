// Package conversation is the pure fold behind the list of conversations: what one session is about, how much was said and
// done in it, and what in it is not finished.
//
// It promises:
//
//   - Apply accepts every event that was ever written, and never fails.
//   - Open is a superset of what is due: whenever a machine of another service might still owe an event (a message, command or
//     decision without an end, a claim, a call, an approval, something to show), it is not empty. What is in doubt stays open,
//     so an item here is a reason to look at the session and no proof that it is stuck. Where another machine drops an event
//     (an outcome of an attempt that is not open, a fact that comes twice), so does this one.
//   - A State is a value of bounded size, equal to the one that was written as JSON and read back.
//
// What it does not see: steps that a machine takes without an event that announces them, as the compaction that follows a turn
// by itself.
package conversation

import (
	"time"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Version names the form of State and the meaning of Apply. It changes whenever one of them does; what was folded by another
// version is folded again.
const Version = 2

// Roles of a message.
const (
	User      = "user"      // a person has written it, or given it as a command
	Assistant = "assistant" // a model has, or a program outside that speaks for the agent
	Notice    = "notice"    // jetclaw has: a failure, a question for approval, an answer to a command
)

// Message is something that was said in the session.
type Message struct {
	ID     string    `json:"id"` // of the event that has it
	Cursor uint64    `json:"cursor"`
	Time   time.Time `json:"time"`
	Role   string    `json:"role"`
	// From is the person as the channel shows them (untrusted), else their identity; the model, or the program ("mcp:…", as it
	// names itself); "" for a notice.
	From   string           `json:"from,omitempty"`
	Text   string           `json:"text"`
	Turn   string           `json:"turn,omitempty"` // that it belongs to, where that is known
	Files  []messagev1.File `json:"files,omitzero"`
	Edited bool             `json:"edited,omitempty"`
	Cut    int              `json:"cut,omitempty"` // bytes of Text that were left out
}

// Open is something that is not finished.
type Open struct {
	Kind   string    `json:"kind"`
	ID     string    `json:"id"` // of the message, turn, call …; of the event that is to be shown
	Cursor uint64    `json:"cursor"`
	Since  time.Time `json:"since"`
}

// Kinds of what is open.
const (
	OpenMessage    = "message"    // waits for an answer
	OpenControl    = "control"    // a command without an answer
	OpenDecision   = "decision"   // an answer to an approval that nobody has taken
	OpenTurn       = "turn"       // runs, or waits for its calls
	OpenCompaction = "compaction" // a summary is being made
	OpenCall       = "call"       // a tool call without a result
	OpenApproval   = "approval"   // a call is parked
	OpenDelivery   = "delivery"   // something was not shown yet
	OpenNewer      = "newer"      // an event that this version cannot read: nobody here knows what is due
	OpenMore       = "more"       // more was open than is kept
)

// State is the fold of one session. The zero value is one that nobody has written to.
type State struct {
	First   uint64    `json:"first"` // cursors
	Last    uint64    `json:"last"`
	LastID  string    `json:"last_id"` // of the event at Last
	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`

	Title   string   `json:"title,omitempty"`    // the beginning of the first message
	TitleOf string   `json:"title_of,omitempty"` // id of that message
	People  []Person `json:"people,omitempty"`   // who have written, at most maxPeople; never written through

	Messages int   `json:"messages,omitempty"` // of people
	Answers  int   `json:"answers,omitempty"`
	Turns    int   `json:"turns,omitempty"`
	Calls    int   `json:"calls,omitempty"`
	Events   int   `json:"events"`
	Tokens   int   `json:"tokens,omitempty"` // in and out, as providers have reported them
	Cost     int64 `json:"cost,omitempty"`   // billionths of a US dollar, of the calls whose price was known

	LastMessage *Message `json:"last_message,omitempty"` // cut at previewBytes; never written through

	// ForkOf and ForkAt say where a forked session begins; unset in one that began by itself.
	ForkOf session.ID `json:"fork_of,omitempty"`
	ForkAt uint64     `json:"fork_at,omitempty"`

	Claim   Claim    `json:"claim,omitzero"`
	Due     []Due    `json:"due,omitempty"`     // oldest first, at most maxDue; never written through
	More    int      `json:"more,omitempty"`    // that were open and not kept in Due
	Drafts  []Draft  `json:"drafts,omitempty"`  // of the outbox, at most maxDrafts
	Prompts []string `json:"prompts,omitempty"` // approvals that a channel shows, at most maxPrompts
	Seen    []string `json:"seen,omitempty"`    // keys of the last facts from outside, at most maxSeen
	Shown   []string `json:"shown,omitempty"`   // keys of the last things that were shown, at most maxShown
}

// The bounds of State. Those of Seen, Shown and Prompts are not above those of the machines that remember the same.
const (
	maxPeople  = 32
	maxDue     = 1000
	maxDrafts  = 8
	maxPrompts = 64
	maxSeen    = 16
	maxShown   = 16
)

const (
	titleRunes   = 80
	previewBytes = 400
)

// Person has written in the session.
type Person struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"` // untrusted
}

// String is what a person is called.
func (p Person) String() string {
	if p.Name != "" {
		return p.Name
	}
	return p.ID
}

// Claim is the last model call that was claimed. Turn is "" while none runs.
type Claim struct {
	Turn    string `json:"turn,omitempty"`
	Round   int    `json:"round,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Open    bool   `json:"open,omitempty"` // the call has no outcome
}

// Due is an open item with what its end has to match.
type Due struct {
	Open

	Key      string `json:"key,omitempty"`      // delivery: the source's own of its event
	Verb     string `json:"verb,omitempty"`     // control
	Turn     string `json:"turn,omitempty"`     // call, approval
	Call     string `json:"call,omitempty"`     // approval
	Phase    phase  `json:"phase,omitempty"`    // call, delivery
	Attempt  int    `json:"attempt,omitempty"`  // call, compaction, delivery: the last one that was claimed
	Part     int    `json:"part,omitempty"`     // delivery: the one that is to be sent
	Approval string `json:"approval,omitempty"` // approval: its id once it was asked; delivery: the one that it is about
	Asks     bool   `json:"asks,omitempty"`     // delivery: it is the question itself
}

// phase is how far something has come.
type phase int

const (
	waiting phase = iota
	dispatched
	claimed
)

// Draft is a message that is edited while a model speaks.
type Draft struct {
	Turn  string `json:"turn"`
	Round int    `json:"round"`
}

// Open is what is not finished, oldest first.
func (s State) Open() []Open {
	list := make([]Open, 0, len(s.Due)+1)
	for _, d := range s.Due {
		list = append(list, d.Open)
	}
	if s.More > 0 {
		list = append(list, Open{Kind: OpenMore, Cursor: s.Last, Since: s.Updated})
	}
	return list
}

// Quiet says that nothing is open.
func (s State) Quiet() bool { return len(s.Due) == 0 && s.More == 0 }

// Names are what the people are called.
func (s State) Names() []string {
	names := make([]string, len(s.People))
	for i, p := range s.People {
		names[i] = p.String()
	}
	return names
}
