// Package messagev1 has the events of the intake service: what came in from outside, after the one gate.
package messagev1

import (
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// Event is the sealed set of this package.
//
//sumtype:decl
type Event interface {
	envelope.Body
	message()
}

// Sender is who wrote a message, as the channel proves it.
type Sender struct {
	ID   string `json:"id"`             // an identity: "telegram:12345", "http:<token name>", "local"
	Name string `json:"name,omitempty"` // how the channel shows the person; untrusted
}

// Received is an admitted message. Its event ID is the message id; Key is the source's own.
type Received struct {
	From Sender `json:"from"`
	Text string `json:"text"` // valid UTF-8, not empty
}

// Edited replaces the text of an earlier message, unless a turn has shown that one to the model already.
type Edited struct {
	Message string `json:"message"` // id of the message
	From    Sender `json:"from"`
	Text    string `json:"text"`
}

// Reason says why a message was refused.
type Reason string

const (
	Empty    Reason = "empty"
	TooLarge Reason = "too_large"
	NotUTF8  Reason = "not_utf8"
	Denied   Reason = "denied"
)

// Refused records that something came in and was not admitted. Its content is not kept.
type Refused struct {
	From   Sender `json:"from"`
	Reason Reason `json:"reason"`
	Detail string `json:"detail"` // for the sender: what is wrong, what to do
	Bytes  int    `json:"bytes"`  // size of what was refused
}

// Verb is what a person asks of the session itself.
type Verb string

const (
	Stop    Verb = "stop"    // cancels what waits and what runs at the control's own cursor
	New     Verb = "new"     // begins afresh; with the argument "keep" a summary of the past is kept
	Compact Verb = "compact" // replaces the past by a summary
	Model   Verb = "model"   // chooses the session's model; without an argument: says which it is
	Queue   Verb = "queue"   // chooses the queue mode; without an argument: says which it is
	Status  Verb = "status"  // says what is going on
	Approve Verb = "approve" // answers an approval with yes: becomes a Decision, never a Control
	Deny    Verb = "deny"    // answers an approval with no: becomes a Decision, never a Control
)

// Control is a person's command to the session (control.requested).
type Control struct {
	From Sender `json:"from"`
	Verb Verb   `json:"verb"`
	// Argument is what follows the command, trimmed; "" for most.
	Argument string `json:"argument,omitempty"`
}

// Decision is a person's answer to an approval (decision.submitted), in the session of the approval. Who may decide is for
// the approvals service to say.
type Decision struct {
	From     Sender          `json:"from"`
	Approval string          `json:"approval,omitempty"` // id; "": the only one that is open in the session
	Decision callv1.Decision `json:"decision"`
	Reason   string          `json:"reason,omitempty"` // of a denial
}

func (Received) EventType() string { return "message.received.v1" }
func (Edited) EventType() string   { return "message.edited.v1" }
func (Refused) EventType() string  { return "message.refused.v1" }
func (Control) EventType() string  { return "control.requested.v1" }
func (Decision) EventType() string { return "decision.submitted.v1" }

func (Received) message() {}
func (Edited) message()   {}
func (Refused) message()  {}
func (Control) message()  {}
func (Decision) message() {}
