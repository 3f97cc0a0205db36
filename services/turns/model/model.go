// Package model is what the turns service and its model adapters exchange: a request, an answer, and an error that says
// what a person is told.
package model

import (
	"encoding/json"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// Request is one model call.
type Request struct {
	Messages []turn.Message
	Tools    []Tool
}

// Tool is a tool that the model is offered.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON Schema of type object; nil for a tool without arguments
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

// Error is a failed model call.
type Error struct {
	Cause  turnv1.Cause
	Text   string // for the person: what happened, what to do; no secrets
	Detail string // for the operator; no secrets
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Text
	}
	return e.Text + " (" + e.Detail + ")"
}
