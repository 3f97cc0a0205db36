// Package noticev1 has the one event by which any service tells a person something outside of a turn.
package noticev1

import (
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
)

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
	// By is who had it posted, a program outside that speaks for the agent here: "mcp:claude-code", as it names itself; "" for the
	// service's own words.
	By string `json:"by,omitempty"`
	// Permission is what By asks a person; Text says it in words.
	Permission *Permission `json:"permission,omitempty"`
}

// Permission is a question of a program outside whether it may use a tool of its own. An owner who writes "yes ID" or "no ID" in the
// session answers it (permission.answered); the first answer counts. Nothing of jetclaw waits for it.
type Permission struct {
	Request     string    `json:"request"` // id: 5 of the letters a to z without l
	Tool        string    `json:"tool"`
	Description string    `json:"description,omitempty"`
	Preview     string    `json:"preview,omitempty"` // of its input, at most 200 characters
	Expires     time.Time `json:"expires"`           // nobody waits for an answer after it
}

func (Posted) EventType() string       { return "notice.posted.v1" }
func (p Posted) SubjectSuffix() string { return p.Service }

func (Posted) notice() {}
