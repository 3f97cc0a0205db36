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
	Text string `json:"text"` // valid UTF-8; empty only beside Files
	// Native is the channel's own id of the message, by which replies and reactions name it.
	Native string `json:"native,omitempty"`
	// Group says that several people write in the session.
	Group bool `json:"group,omitempty"`
	// Quote is what it replies to.
	Quote *Quote `json:"quote,omitempty"`
	// Forwarded is who has written it first, as the channel shows it: the text and the files are somebody else's, untrusted.
	Forwarded string `json:"forwarded,omitempty"`
	Files     []File `json:"files,omitzero"`
}

// Quote is a message that another one replies to, or the part of it that was marked.
type Quote struct {
	Native string `json:"native,omitempty"`
	From   string `json:"from,omitempty"` // as the channel shows the person; untrusted
	Own    bool   `json:"own,omitempty"`  // the agent itself has written it
	Text   string `json:"text,omitempty"` // the beginning of it
}

// Kind is what a file is, as the channel says.
type Kind string

const (
	Photo     Kind = "photo"
	Document  Kind = "document"
	Voice     Kind = "voice"
	Audio     Kind = "audio"
	Video     Kind = "video"
	Animation Kind = "animation"
	Sticker   Kind = "sticker"
)

// File is one attachment of a message. Its bytes are in the object store under its session and Digest.
type File struct {
	Kind    Kind   `json:"kind"`
	Name    string `json:"name,omitempty"`    // as the sender's device calls it; untrusted
	Type    string `json:"type,omitempty"`    // media type, as its first bytes or else the sender say
	Size    int64  `json:"size,omitempty"`    // bytes
	Width   int    `json:"width,omitempty"`   // pixels
	Height  int    `json:"height,omitempty"`  // pixels
	Seconds int    `json:"seconds,omitempty"` // how long it plays
	Digest  string `json:"digest,omitempty"`  // SHA-256, hex; "" when the bytes are not there
	Missing string `json:"missing,omitempty"` // why they are not, for people
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
	// Tell says that the sender has no receipt to read Detail in: the outbox shows it.
	Tell bool `json:"tell,omitempty"`
}

// Reacted says that somebody has put a reaction on a message, or has taken it away.
type Reacted struct {
	From    Sender   `json:"from"`
	Native  string   `json:"native"`           // the channel's id of the message
	Emoji   []string `json:"emoji,omitzero"`   // that it has from this person now; custom ones by their number
	Removed []string `json:"removed,omitzero"` // that it had before
}

// Quarantined keeps what a channel has delivered and nobody could read, so that it is neither lost nor in the way.
type Quarantined struct {
	Channel string `json:"channel"`
	Account string `json:"account"`
	Source  string `json:"source"` // the channel's id of it
	Reason  string `json:"reason"` // why it could not be read
	Bytes   int    `json:"bytes"`  // size of it
	Data    string `json:"data"`   // the beginning of it, as text
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
	Help    Verb = "help"    // says which commands there are
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
	// Button says that it was given by a button, whose channel shows the person what became of it.
	Button bool `json:"button,omitempty"`
}

// PermissionAnswer is an owner's answer to what a program outside has asked in the session (noticev1.Permission). It is for that
// program alone: no model sees it.
type PermissionAnswer struct {
	From    Sender `json:"from"`
	Request string `json:"request"` // id of the question
	Notice  string `json:"notice"`  // id of the event that has asked it: programs choose ids as they like
	Allow   bool   `json:"allow"`
}

func (Received) EventType() string         { return "message.received.v1" }
func (Edited) EventType() string           { return "message.edited.v1" }
func (Refused) EventType() string          { return "message.refused.v1" }
func (Reacted) EventType() string          { return "message.reacted.v1" }
func (Quarantined) EventType() string      { return "message.quarantined.v1" }
func (Control) EventType() string          { return "control.requested.v1" }
func (Decision) EventType() string         { return "decision.submitted.v1" }
func (PermissionAnswer) EventType() string { return "permission.answered.v1" }

func (Received) message()         {}
func (Edited) message()           {}
func (Refused) message()          {}
func (Reacted) message()          {}
func (Quarantined) message()      {}
func (Control) message()          {}
func (Decision) message()         {}
func (PermissionAnswer) message() {}
