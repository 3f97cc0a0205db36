// Package noticev1 has the one event by which any service tells a person something outside of a turn.
package noticev1

import "github.com/jetclaw/jetclaw/schemas/envelope"

// Event is the sealed set of this package.
//
//sumtype:decl
type Event interface {
	envelope.Body
	notice()
}

// Posted is shown by the outbox in the session that it is appended to.
type Posted struct {
	Service string `json:"service"` // who posts it
	Text    string `json:"text"`
	// Answers are the ids of the commands that it answers.
	Answers []string `json:"answers,omitzero"`
	// Quiet says that whoever it answers learns it where they asked (a button): nothing is shown in the session.
	Quiet bool `json:"quiet,omitempty"`
}

func (Posted) EventType() string       { return "notice.posted.v1" }
func (p Posted) SubjectSuffix() string { return p.Service }

func (Posted) notice() {}
