package bridge

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/bridge/event"
)

// What is asked of the service that knows conversations, and its answers as far as they are used here.
const conversations = "conversations"

type listQuestion struct {
	Limit   int    `json:"limit,omitempty"`
	Cursor  string `json:"cursor,omitempty"`
	Search  string `json:"search,omitempty"`
	Channel string `json:"channel,omitempty"`
}

type listAnswer struct {
	Conversations []conversation `json:"conversations"`
	Next          string         `json:"next"`
	Behind        behind         `json:"behind"`
}

type conversation struct {
	Session     session.ID `json:"session"`
	Title       string     `json:"title"`
	People      []string   `json:"people"`
	Updated     time.Time  `json:"updated"`
	Messages    int        `json:"messages"`
	Answers     int        `json:"answers"`
	LastMessage *message   `json:"last_message"`
}

type message struct {
	Cursor uint64           `json:"cursor"`
	ID     string           `json:"id"`
	Time   time.Time        `json:"time"`
	Role   string           `json:"role"`
	From   string           `json:"from"`
	Text   string           `json:"text"`
	Turn   string           `json:"turn"`
	Files  []messagev1.File `json:"files"`
	Edited bool             `json:"edited"`
	Cut    int              `json:"cut"`
}

// Conversation is what clients are told of one.
type Conversation struct {
	event.Route

	Name     string `json:"displayName,omitempty" jsonschema:"who writes there, as the channel shows them"`
	Title    string `json:"derivedTitle,omitempty" jsonschema:"the beginning of its first message"`
	Last     string `json:"lastMessagePreview,omitempty"`
	Updated  int64  `json:"updatedAt" jsonschema:"Unix milliseconds"`
	Messages int    `json:"messageCount" jsonschema:"messages of people, and answers"`
}

type listIn struct {
	Limit   int    `json:"limit,omitempty"`
	Search  string `json:"search,omitempty"`
	Channel string `json:"channel,omitempty"`
	Titles  bool   `json:"includeDerivedTitles,omitempty"`
	Last    bool   `json:"includeLastMessage,omitempty"`
	Cursor  string `json:"cursor,omitempty"`
}

type listOut struct {
	Conversations []Conversation `json:"conversations"`
	Next          string         `json:"next,omitempty" jsonschema:"cursor of the next page"`
	Behind        uint64         `json:"behind,omitempty" jsonschema:"events that the index of conversations has not read yet: there may be more"`
}

func (b *Bridge) conversationsList(ctx context.Context, _ *mcp.CallToolRequest, in listIn) (string, listOut, error) {
	got, err := ask[listAnswer](ctx, b.line, conversations, "list", listQuestion{
		Limit: in.Limit, Cursor: in.Cursor, Search: in.Search, Channel: in.Channel,
	})
	if err != nil {
		return "", listOut{}, err
	}
	out := listOut{Conversations: make([]Conversation, 0, len(got.Conversations)), Next: got.Next, Behind: got.Behind.Events}
	for _, c := range got.Conversations {
		out.Conversations = append(out.Conversations, shown(c, in.Titles, in.Last))
	}
	return fmt.Sprintf("conversations: %d", len(out.Conversations)), out, nil
}

func shown(c conversation, title, last bool) Conversation {
	out := Conversation{Route: event.RouteOf(c.Session), Updated: c.Updated.UnixMilli(), Messages: c.Messages + c.Answers}
	for i, p := range c.People {
		if i > 0 {
			out.Name += ", "
		}
		out.Name += p
	}
	if title {
		out.Title = c.Title
	}
	if last && c.LastMessage != nil {
		out.Last = c.LastMessage.Text
	}
	return out
}

type getIn struct {
	Session string `json:"session_key"`
}

type getOut struct {
	Conversation Conversation `json:"conversation"`
}

func (b *Bridge) conversationGet(ctx context.Context, _ *mcp.CallToolRequest, in getIn) (string, getOut, error) {
	id, err := sessionOf(in.Session)
	if err != nil {
		return "", getOut{}, err
	}
	c, err := b.conversation(ctx, id)
	if err != nil {
		return "", getOut{}, err
	}
	out := getOut{shown(c, true, true)}
	return "conversation: " + string(id), out, nil
}

type getQuestion struct {
	Session session.ID `json:"session"`
}

// conversation is one that there is.
func (b *Bridge) conversation(ctx context.Context, id session.ID) (conversation, error) {
	got, err := ask[struct {
		Conversation conversation `json:"conversation"`
	}](ctx, b.line, conversations, "get", getQuestion{id})
	return got.Conversation, notThere(id, err)
}

// notThere says in the words of this protocol that there is no such conversation.
func notThere(id session.ID, err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return fault.New(fault.NotFound, "conversation not found: %s (%w)", id, err)
	}
	return err
}

// sessionOf reads the name of a conversation that a client has given.
func sessionOf(key string) (session.ID, error) {
	id, err := session.Parse(key)
	if err != nil {
		return "", fault.New(fault.NotFound, "conversation not found: %.200s (a session_key looks like main.telegram.mybot.12345; "+
			"conversations_list has those that there are)", key)
	}
	return id, nil
}
