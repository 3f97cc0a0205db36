// Package event is what MCP clients are told of the journal: a pure translation of its events into the fewer and plainer ones of the
// bridge. Their cursor is the journal's, so that a client can read on from any of them, whenever.
package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
)

// Type names a kind of event.
type Type string

// The types. The first ones are told to everybody; the others to who asks for them.
const (
	MessageType     Type = "message"
	ExecRequested   Type = "exec_approval_requested" // a built-in tool waits for a person
	ExecResolved    Type = "exec_approval_resolved"
	PluginRequested Type = "plugin_approval_requested" // a tool of an MCP server does
	PluginResolved  Type = "plugin_approval_resolved"
	PermissionType  Type = "claude_permission_request" // a program outside asks in a conversation

	PermissionEnd Type = "claude_permission_resolved"
	TurnStarted   Type = "turn_started"
	TurnCompleted Type = "turn_completed"
	DeliveryType  Type = "delivery"
)

// Usual are the types that are told when nobody chooses.
func Usual() []Type {
	return []Type{MessageType, ExecRequested, ExecResolved, PluginRequested, PluginResolved, PermissionType}
}

// All are all types.
func All() []Type { return append(Usual(), PermissionEnd, TurnStarted, TurnCompleted, DeliveryType) }

// Event is one event.
type Event struct {
	Cursor  uint64 // of the journal's event; two events can share one
	Type    Type
	Session session.ID
	Time    time.Time
	Body    Body
}

// Body is what an event says beside where and when.
//
//sumtype:decl
type Body interface{ body() }

// Message is something that was said.
type Message struct {
	ID     string `json:"messageId"`
	Role   Role   `json:"role"`
	From   string `json:"from,omitempty"` // identity of who wrote it, or the model, or the program that had it said
	Name   string `json:"name,omitempty"` // how the channel shows the person; untrusted
	Text   string `json:"text"`
	Cut    int    `json:"cutBytes,omitempty"`    // of the text, that were left out
	Files  int    `json:"attachments,omitempty"` // how many came with it
	Edited bool   `json:"edited,omitempty"`      // it takes the place of the message with its id
	Failed bool   `json:"failed,omitempty"`      // it says that there is no answer, and why
	Turn   string `json:"turnId,omitempty"`
	Group  bool   `json:"-"` // several people write there
}

// Role is who speaks.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Notice    Role = "notice" // jetclaw itself
)

// Requested is a question to a person.
type Requested struct {
	ID      string  `json:"id"`
	Request Request `json:"request"`
	Created int64   `json:"createdAtMs"` // Unix milliseconds
	Expires int64   `json:"expiresAtMs"`
}

// Request is what a question is about.
type Request struct {
	Tool      string          `json:"tool"`
	Executor  string          `json:"executor"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Level     string          `json:"level"`
	Why       []string        `json:"why,omitempty"`
	Shown     string          `json:"shown"` // exactly what would run, or be sent
	Always    bool            `json:"always"`
	Session   string          `json:"sessionKey"`
	Turn      string          `json:"turnId"`
	Call      string          `json:"callId"`
}

// Resolved is the end of a question.
type Resolved struct {
	ID       string `json:"id"`
	Decision string `json:"decision"` // allow-once, allow-always, deny; expired, cancelled, voided: nobody has decided
	By       string `json:"resolvedBy,omitempty"`
	Reason   string `json:"reason,omitempty"`
	At       int64  `json:"ts"` // Unix milliseconds
}

// Permission is a question of a program outside.
type Permission struct {
	Request     string `json:"requestId"`
	Tool        string `json:"toolName"`
	Description string `json:"description"`
	Preview     string `json:"inputPreview"`
	By          string `json:"by"`
	Expires     int64  `json:"expiresAtMs"`
}

// Permitted is an owner's answer to it.
type Permitted struct {
	Request  string `json:"requestId"`
	Notice   string `json:"deliveryId"` // of the message that asked it
	Behavior string `json:"behavior"`   // allow, deny
	From     string `json:"from"`
}

// Turn is the beginning or the end of a turn.
type Turn struct {
	ID      string   `json:"turnId"`
	Answers []string `json:"messageIds"`
	Status  string   `json:"status"` // started, completed, failed, cancelled
	Cause   string   `json:"cause,omitempty"`
	Model   string   `json:"model,omitempty"`
}

// Delivery is what became of something that was to be shown.
type Delivery struct {
	ID      string `json:"deliveryId"`
	Status  string `json:"status"` // sent, deferred, failed, unknown
	Attempt int    `json:"attempt"`
	Part    int    `json:"part,omitempty"`
	More    bool   `json:"more,omitempty"` // sent: another part follows
	Receipt string `json:"receipt,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Until   int64  `json:"untilMs,omitempty"` // deferred: not before
	Again   bool   `json:"again,omitempty"`   // unknown: it is sent again, marked as a repeat; else it is held
}

// Final says that nothing more becomes of it.
func (d Delivery) Final() bool {
	return d.Status == "sent" && !d.More || d.Status == "failed" || d.Status == "unknown" && !d.Again
}

func (Message) body()    {}
func (Requested) body()  {}
func (Resolved) body()   {}
func (Permission) body() {}
func (Permitted) body()  {}
func (Turn) body()       {}
func (Delivery) body()   {}

// head is how every event begins.
type head struct {
	Cursor  uint64 `json:"cursor"`
	Type    Type   `json:"type"`
	Session string `json:"sessionKey"`
	Time    int64  `json:"timestamp"` // Unix milliseconds
}

// MarshalJSON writes messages flat and the others under "raw", as clients of this protocol know them.
func (e Event) MarshalJSON() ([]byte, error) {
	h := head{Cursor: e.Cursor, Type: e.Type, Session: string(e.Session), Time: e.Time.UnixMilli()}
	if m, ok := e.Body.(Message); ok {
		return plain(struct {
			head
			Message
			Conversation Route `json:"conversation"`
		}{h, m, RouteOf(e.Session)})
	}
	raw, err := plain(e.Body)
	if err != nil {
		return nil, fmt.Errorf("event %d: %w", e.Cursor, err)
	}
	return plain(struct {
		head
		Raw json.RawMessage `json:"raw"`
	}{h, raw})
}

// plain leaves "<" as it is: an encoder around it could not undo the escapes that JSON inside HTML needs.
func plain(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
