// Package accessv1 has the events by which people are let in: who has asked, who was let in by whom, and who was sent away
// again. All of them are in one session of the house, Session, so that one fold knows everybody; nothing is delivered there.
package accessv1

import (
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Session holds the events of this package. It is none of a person's, and is never archived or deleted.
const Session session.ID = "main.house.intake.access"

// Event is the sealed set of this package.
//
//sumtype:decl
type Event interface {
	envelope.Body
	access()
}

// Door is one way in: a bot.
type Door struct {
	Channel string `json:"channel"` // "telegram"
	Account string `json:"account"` // name of the bot in the configuration
}

// Requested says that somebody who is not known has written, and which code was told to them.
type Requested struct {
	Door
	Who     string    `json:"who"`            // identity: "telegram:12345"
	Name    string    `json:"name,omitempty"` // as the channel shows the person; untrusted
	Code    string    `json:"code"`           // what the operator types to let them in; it carries no authority by itself
	Expires time.Time `json:"expires"`        // at this instant it is expired
}

// Granted lets a person in.
type Granted struct {
	Door
	Who   string `json:"who"`
	Name  string `json:"name,omitempty"`
	Owner bool   `json:"owner,omitempty"` // counts among the owners from now on: may decide approvals
	By    string `json:"by"`              // identity of who let them in
}

// Revoked sends a person away, and makes an owner of this package's no owner any more.
type Revoked struct {
	Door
	Who string `json:"who"`
	By  string `json:"by"`
}

// Moved says that a group has another number from now on (Bot API: migrate_to_chat_id). Its conversation goes on under the
// old one, and what was configured for the old one holds for it.
type Moved struct {
	Door
	From string `json:"from"` // chat id
	To   string `json:"to"`
}

func (Requested) EventType() string { return "access.requested.v1" }
func (Granted) EventType() string   { return "access.granted.v1" }
func (Revoked) EventType() string   { return "access.revoked.v1" }
func (Moved) EventType() string     { return "access.moved.v1" }

func (Requested) access() {}
func (Granted) access()   {}
func (Revoked) access()   {}
func (Moved) access()     {}

// Owners are the identities that were made owners and not sent away since, oldest first. It is a fold of Session: a value, never
// written through.
type Owners []string

// Apply folds one committed event.
func (o Owners) Apply(e envelope.Event) Owners {
	switch b := e.Body.(type) {
	case Granted:
		if b.Owner && !slices.Contains(o, b.Who) {
			return append(slices.Clip(o), b.Who)
		}
	case Revoked:
		if i := slices.Index(o, b.Who); i >= 0 {
			return slices.Delete(slices.Clone(o), i, i+1)
		}
	}
	return o
}
