package conversations

import (
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/conversations/conversation"
)

// Endpoints of the service: svc.conversations.<verb>. Unknown sessions are fault.NotFound, with the ids that come nearest.
const (
	listVerb    = "list"    // ListRequest    → List
	getVerb     = "get"     // GetRequest     → Got
	readVerb    = "read"    // ReadRequest    → Read
	searchVerb  = "search"  // SearchRequest  → Search
	statusVerb  = "status"  // StatusRequest  → Status
	reindexVerb = "reindex" // ReindexRequest → Reindexed
)

// Behind says how far the journal was read when an answer was made.
type Behind struct {
	Cursor uint64 `json:"cursor"` // of the last event that is in the answer
	Last   uint64 `json:"last"`   // of the journal's last event
	Events uint64 `json:"events"` // between them, at most: cursors of purged events count
}

// ListRequest asks for conversations, the last active first. Fields that are empty leave all of them.
type ListRequest struct {
	Limit   int       `json:"limit,omitempty"`  // 1 to 500; 0: 50
	Cursor  string    `json:"cursor,omitempty"` // List.Next of the page before
	Search  string    `json:"search,omitempty"` // part of a title, a name or an id, in any case
	Agent   string    `json:"agent,omitempty"`
	Channel string    `json:"channel,omitempty"`
	Since   time.Time `json:"since,omitzero"` // active at or after it
	Open    bool      `json:"open,omitempty"` // only those with something open
}

// List is the answer. Next is the Cursor of the next page, "" on the last one.
type List struct {
	Conversations []Conversation `json:"conversations"`
	Next          string         `json:"next,omitempty"`
	Behind        Behind         `json:"behind"`
}

// Conversation is one session.
type Conversation struct {
	Session session.ID `json:"session"`
	Agent   string     `json:"agent"`
	Channel string     `json:"channel"`
	Account string     `json:"account"`
	Peer    string     `json:"peer"`
	Title   string     `json:"title"`  // derived: the first line of the first message
	People  []string   `json:"people"` // who have written; untrusted

	First   uint64    `json:"first"` // cursors
	Last    uint64    `json:"last"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`

	Messages int   `json:"messages"` // of people
	Answers  int   `json:"answers"`
	Turns    int   `json:"turns"`
	Calls    int   `json:"calls"` // of tools
	Events   int   `json:"events"`
	Tokens   int   `json:"tokens"`
	Cost     int64 `json:"cost"` // billionths of a US dollar

	LastMessage *Message   `json:"last_message,omitempty"`
	Open        []Open     `json:"open,omitempty"` // a superset of what is due; in a List its first openListed
	ForkOf      session.ID `json:"fork_of,omitempty"`
	ForkAt      uint64     `json:"fork_at,omitempty"`
}

// Message is something that was said.
type Message = conversation.Message

// Open is something that is not finished.
type Open = conversation.Open

// GetRequest asks for one conversation.
type GetRequest struct {
	Session session.ID `json:"session"`
}

// Got is the answer.
type Got struct {
	Conversation Conversation `json:"conversation"`
	Behind       Behind       `json:"behind"`
}

// ReadRequest asks for messages of one conversation: those before a cursor, those after one, or the last ones; or for one of
// them.
type ReadRequest struct {
	Session session.ID `json:"session"`
	Limit   int        `json:"limit,omitempty"`  // 1 to 200; 0: 20
	Before  uint64     `json:"before,omitempty"` // the nearest below it
	After   uint64     `json:"after,omitempty"`  // the nearest above it; with Before, those between
	Oldest  bool       `json:"oldest,omitempty"` // from the beginning, as if After were 0 and given
	// Message is the id of the only one that is wanted; the other fields but Session are then not read. One that is not in the
	// session is fault.NotFound.
	Message string `json:"message,omitempty"`
}

// Read is the answer, oldest first. More says that there are others: older ones, or with After newer ones.
type Read struct {
	Session  session.ID `json:"session"`
	Messages []Message  `json:"messages"`
	More     bool       `json:"more,omitempty"`
	Behind   Behind     `json:"behind"`
}

// SearchRequest asks for messages that have all words of a query, in any case and with any accents; the last word may be the
// beginning of one. The query is text: nothing in it is syntax.
type SearchRequest struct {
	Query   string     `json:"query"`
	Limit   int        `json:"limit,omitempty"`  // 1 to 100; 0: 20
	Cursor  string     `json:"cursor,omitempty"` // Search.Next of the page before
	Session session.ID `json:"session,omitempty"`
	Agent   string     `json:"agent,omitempty"`
	Channel string     `json:"channel,omitempty"`
}

// Search is the answer, the newest message first. Next is the Cursor of the next page, "" on the last one.
type Search struct {
	Hits   []Hit  `json:"hits"`
	Next   string `json:"next,omitempty"`
	Behind Behind `json:"behind"`
}

// Hit is a message that was found.
type Hit struct {
	Session session.ID `json:"session"`
	Message Message    `json:"message"`
	Snippet string     `json:"snippet"` // the place in its text, the words in [ ]
}

// StatusRequest asks about the index itself.
type StatusRequest struct{}

// Status is the answer.
type Status struct {
	Behind   Behind `json:"behind"` // while Rebuilding that of the new index: its progress
	Sessions int    `json:"sessions"`
	Messages int    `json:"messages"`
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	// Rebuilding says that the index is built from the beginning. After ReindexRequest the old one goes on to answer meanwhile.
	Rebuilding bool      `json:"rebuilding,omitempty"`
	Since      time.Time `json:"since"` // when it was begun, and while Rebuilding when that was
}

// ReindexRequest asks for a new index. It is built beside the old one; Status says how far it is.
type ReindexRequest struct{}

// Reindexed says that it was begun, or that one is being built already.
type Reindexed struct{}
