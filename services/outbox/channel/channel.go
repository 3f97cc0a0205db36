// Package channel is what the outbox and the senders of its push channels say to each other: one item to send, and what
// became of it. The three classes of error are what keeps an answer from being lost or shown twice.
package channel

import (
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
)

// Item is one attempt to show one thing.
type Item struct {
	Session  session.ID
	Delivery string   // the same for all attempts: a receiver can recognise a repeat by it
	Attempt  int      // from 1
	Repeat   bool     // an earlier attempt may have arrived
	Kind     string   // of the event that is shown: "turn.completed"
	Text     string   //
	Answers  []string // ids of the messages, commands and decisions that it answers
	Approval string   // id of the approval that Kind "approval.…" is about, so that a channel can offer buttons; carries no authority
	Always   bool     // Kind "approval.requested": it may be allowed for always
	Ways     string   // Kind "approval.requested": the end of Text that says how to answer by writing
	Part     int      // which part of it is to be sent, from 0: Receipt.More asks for the next
	// Draft is the receipt of the message that showed the answer as it came, and is to become this item's first part; "" for none.
	Draft string
	// Prompt is the question that Kind "approval.decided", "approval.expired"… settles, where it was shown; nil for none.
	Prompt *Prompt
	// Reply is the channel's id of the message that it answers, in sessions where several people write; "" elsewhere.
	Reply string
}

// Prompt is a question that was shown, with its receipt.
type Prompt struct {
	Receipt string // of its last part, which has the buttons
	Text    string // with Ways
	Ways    string
}

// Receipt is what a channel gives for what it took.
type Receipt struct {
	ID   string // the channel's own
	More bool   // the item has another part
}

// Class says what is known after an attempt without a receipt.
type Class string

const (
	Permanent Class = "permanent" // it did not arrive and never will: refused
	Retry     Class = "retry"     // it did not arrive; later it may
	Unknown   Class = "unknown"   // it may have arrived
)

// Error is what became of an attempt without a receipt.
type Error struct {
	Class Class
	After time.Duration // Retry: not before, as the channel asks; 0 when it does not say
	// Untried says, with Retry, that it is not the item's trouble: the limits of the channel left no room, or the channel is away.
	// After is then exact, and it counts as no attempt.
	Untried bool
	Reason  string // for the journal: short, without secrets
}

func (e *Error) Error() string { return e.Reason }

// Errorf makes an Error.
func Errorf(c Class, format string, args ...any) *Error {
	return &Error{Class: c, Reason: fmt.Sprintf(format, args...)}
}

// ErrorOf finds the Error in err. An error of no class is Unknown: whoever did not say that nothing arrived does not know.
func ErrorOf(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Class: Unknown, Reason: err.Error()}
}
