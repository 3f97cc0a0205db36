package wire

import (
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Status is what became of a message, as callers are told.
type Status string

// The statuses. AwaitingApproval is told when a call of the turn waits for a person.
const (
	Pending          Status = "pending"
	Completed        Status = "completed"
	Failed           Status = "failed"
	Refused          Status = "refused"
	Cancelled        Status = "cancelled"
	AwaitingApproval Status = "awaiting_approval"
)

// Request hands one message, edit, command or decision to the gate (svc.intake.submit, svc.intake.control).
type Request struct {
	Session string           `json:"session"` // full id
	From    messagev1.Sender `json:"from"`    // as the channel proves it
	Text    Text             `json:"text,omitempty"`
	Key     string           `json:"key,omitempty"`   // the source's own; "": one is made, and a repeat is another message
	Edits   string           `json:"edits,omitempty"` // id of the message that Text replaces
	Verb    messagev1.Verb   `json:"verb,omitempty"`  // a command instead of a text
	// Argument goes with Verb.
	Argument Text   `json:"argument,omitempty"`
	Trace    string `json:"trace,omitempty"` // W3C traceparent

	Chat `json:"-"`
}

// Chat is what only a channel of intake's own can say of something that came in: no client of the bus or of HTTP can claim it.
type Chat struct {
	Native    string // the channel's id of the message
	Group     bool   // several people write in the session
	Quote     *messagev1.Quote
	Forwarded string // who has written it first; "" when From has
	Files     []messagev1.File
	Button    bool // Verb was given by a button, whose channel shows what became of it
	// Refusal says why the channel does not let From in: what came is refused, whatever it is.
	Refusal string
	// Tell has a refusal shown in the session: there is no receipt that the sender could see.
	Tell bool
	// Reaction is what came, instead of a text.
	Reaction *messagev1.Reacted
}

// Receipt says that it is in the journal.
type Receipt struct {
	MessageID string     `json:"message_id"` // id of the event
	Session   session.ID `json:"session"`
	Cursor    uint64     `json:"cursor"` // of the event
	Status    Status     `json:"status"` // pending at first, completed for an edit; a repeat is told what became of it
	// Passed says that it was the answer to a program's question, and is passed on to that.
	Passed bool `json:"-"`
}

// ReplyRequest asks what became of a message, and waits for it when it is pending (svc.intake.reply).
type ReplyRequest struct {
	Session   string `json:"session"`
	MessageID string `json:"message_id"`
	WaitMS    int64  `json:"wait_ms,omitempty"` // milliseconds; at most MaxWait
	Until     Until  `json:"until,omitempty"`
}

// Until is what a question for a reply waits for.
type Until string

const (
	// UntilTold waits for an answer or, whichever is first, for an approval that has to be given before it.
	UntilTold Until = ""
	// UntilAnswer waits for an answer. Who knows already that a person is asked would not wait at all otherwise.
	UntilAnswer Until = "answer"
)

// Valid says whether it is one of them.
func (u Until) Valid() bool { return u == UntilTold || u == UntilAnswer }

// MaxWait is the longest that one question for a reply may wait.
const MaxWait = 120 * time.Second

// Wait is the bounded time to wait.
func (r ReplyRequest) Wait() time.Duration {
	return time.Duration(min(max(r.WaitMS, 0), MaxWait.Milliseconds())) * time.Millisecond
}

// Reply is what became of a message.
type Reply struct {
	MessageID string     `json:"message_id"`
	Session   session.ID `json:"session"`
	Status    Status     `json:"status"`
	Text      string     `json:"text"`             // the answer, or what to tell or ask the person; "" while pending
	Cause     string     `json:"cause,omitempty"`  // class of a failure or refusal
	Cursor    uint64     `json:"cursor,omitempty"` // of the event that ended it
	// Decision is the one that counts from now on, when this is the reply to it; "" for one that came too late.
	Decision callv1.Decision `json:"decision,omitempty"`
	// Approvals are what AwaitingApproval waits for, oldest first; Text has the same questions.
	Approvals []Question `json:"approvals,omitempty"`
}

// Question is an open approval, as somebody is asked for it.
type Question struct {
	ID      string    `json:"id"`
	Expires time.Time `json:"expires"` // at this instant it is expired
	Text    string    `json:"text"`    // the whole question; "" when it does not fit beside the others
}
