// Package model is what the turns service and its model adapters exchange: a request, an answer, and an error that says
// what a person is told and whether another try may help.
package model

import (
	"encoding/json"
	"time"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// Request is one model call. Its messages are well formed (see package prompt): each call is followed by its result, no
// result stands alone, ids are unique and plain, arguments are JSON objects, no text is empty.
type Request struct {
	Messages  []Message
	Tools     []Tool
	Purpose   Purpose
	MaxOutput int // tokens of the answer at most; 0: the adapter's default
	// Once keeps the adapter from repeating a request that failed: somebody else is to be asked.
	Once bool
}

// Purpose says what the answer is for.
type Purpose string

// The purposes of a request.
const (
	Reply   Purpose = ""        // to a person
	Summary Purpose = "summary" // of the past: the last message holds what is to be summarised
)

// Message is one message of a request.
type Message struct {
	Role  turn.Role   `json:"role"`
	Text  string      `json:"text,omitempty"`
	Calls []turn.Call `json:"calls,omitempty"` // Assistant; each is followed by its result
	Call  string      `json:"call,omitempty"`  // Tool: the id of the call that Text is the result of
	Name  string      `json:"name,omitempty"`  // Tool: the tool that was called
	// Images are pictures of a User's message, in the order in which Text names them.
	Images []Image `json:"images,omitempty"`
}

// Tool is a tool that the model is offered.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // a JSON Schema of type object; nil for a tool without arguments
}

// Answer is all of what a model said. It has a text, calls, or both.
type Answer struct {
	Text  string
	Calls []RawCall
	Usage turnv1.Usage
	Cut   bool // it ended because it reached its length limit
}

// RawCall is a tool call as the model wrote it: its id may be missing or used twice, its arguments may be anything.
type RawCall struct {
	ID        string
	Tool      string
	Arguments string
}

// Class says what a failure means for the next try.
type Class string

// The classes of failures. Passing, Denied and Missing are the model's or the provider's fault and put it on hold for a
// while; the others are the request's or the answer's.
const (
	Passing  Class = "passing"  // 408, 429, 5xx, or provably not sent: the same request may succeed later
	Denied   Class = "denied"   // the provider does not take the key (401, 402, 403)
	Missing  Class = "missing"  // the provider does not know the model (404)
	Invalid  Class = "invalid"  // the provider refuses this request (other 4xx)
	Overflow Class = "overflow" // the request is too long for the model
	Filtered Class = "filtered" // a content filter, or the model declines: asking another would go round it
	Garbage  Class = "garbage"  // what came is not an answer, or not a whole one
)

// Error is a failed model call.
type Error struct {
	Class      Class
	Cause      turnv1.Cause
	Text       string        // for the person: what happened, what to do; no secrets
	Detail     string        // for the operator; no secrets
	RetryAfter time.Duration // what the provider asks for; 0 when it does not
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Text
	}
	return e.Text + " (" + e.Detail + ")"
}
