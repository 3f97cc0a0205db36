package event

import (
	"strings"

	"github.com/jetclaw/jetclaw/schemas/session"
)

// Route is where a conversation takes place.
type Route struct {
	Session string `json:"sessionKey"`
	Agent   string `json:"agent"`
	Channel string `json:"channel"`
	To      string `json:"to"`
	Account string `json:"accountId,omitempty"`
	Thread  string `json:"threadId,omitempty"`
}

// Channels that are no conversations with people.
const (
	House  = "house" // the house's own sessions
	Client = "mcp"   // calls of tools by programs outside
)

// RouteOf reads it from the session's id. A Telegram topic is written behind its chat: "-100777_t42".
func RouteOf(s session.ID) Route {
	r := Route{Session: string(s), Agent: s.Agent(), Channel: s.Channel(), To: s.Peer(), Account: s.Account()}
	if chat, topic, ok := strings.Cut(r.To, "_t"); ok && r.Channel == "telegram" {
		r.To, r.Thread = chat, topic
	}
	return r
}
