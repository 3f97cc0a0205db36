package telegram

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/services/intake/access"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

// what an update comes to.
type what uint8

const (
	nothing  what = iota // service messages, and kinds that are not read
	message              // a message, an edit or a reaction: a request for the gate
	tap                  // on a button
	movement             // of a group, to another number
	member               // the bot was added, removed, blocked
)

// letter is an update as it was read. It is made of the update and of who the bot is, and of nothing else.
type letter struct {
	what    what
	attempt access.Attempt // without door, code and time
	topic   int64          // of a forum; 0: none
	key     string         // of the request, behind the bot's own prefix
	edits   string         // key of the message that it edits, likewise
	request wire.Request   // without session, key and files
	order   int64          // number of the message, in its album
	media   []attachment
	parts   []letter // of an album, in their order
	button  *botapi.CallbackQuery
	from    int64 // movement: the group's number before
	to      int64 // movement: its number from now on
	status  string
}

// read reads an update. me is the bot.
func read(u botapi.Update, me botapi.User) letter {
	switch {
	case u.Message != nil:
		return readMessage(u.ID, u.Message, me)
	case u.Edited != nil:
		return readEdit(u.ID, u.Edited, me)
	case u.Callback != nil:
		return readTap(u.Callback)
	case u.Reaction != nil:
		return readReaction(u.ID, u.Reaction)
	case u.Member != nil:
		l := letter{what: member, status: u.Member.New.Status}
		l.attempt = attemptOf(access.Message, u.Member.Chat, &u.Member.From, nil)
		return l
	}
	return letter{}
}

func readMessage(update int64, m *botapi.Message, me botapi.User) letter {
	switch {
	case m.MigrateTo != 0:
		return letter{what: movement, from: m.Chat.ID, to: m.MigrateTo}
	case m.MigrateFrom != 0: // the new group says so, too: whatever comes there then comes after it
		return letter{what: movement, from: m.MigrateFrom, to: m.Chat.ID}
	case m.IsAutoForward:
		return letter{}
	}
	l := readContent(access.Message, m, me)
	if l.request.Text == "" && len(l.media) == 0 {
		return letter{}
	}
	l.key = strconv.FormatInt(m.ID, 10)
	if m.ID == 0 {
		l.key = "u" + strconv.FormatInt(update, 10)
	}
	return l
}

// readEdit reads a new text. One of what has none, such as a place that moves on, is nothing.
func readEdit(update int64, m *botapi.Message, me botapi.User) letter {
	if m.ID == 0 || m.Text == "" && m.Caption == "" || m.IsAutoForward {
		return letter{}
	}
	l := readContent(access.Edit, m, me)
	if l.request.Text == "" {
		return letter{}
	}
	l.media = nil
	l.key = "e" + strconv.FormatInt(update, 10)
	l.edits = strconv.FormatInt(m.ID, 10)
	return l
}

// readContent is a message but for its key.
func readContent(kind access.Kind, m *botapi.Message, me botapi.User) letter {
	l := letter{what: message, attempt: attemptOf(kind, m.Chat, m.From, m.SenderChat), topic: topicOf(m), order: m.ID}
	body := bodyOf(m, me)
	l.attempt.Addressed = m.Chat.Type == private || body.addressed || repliesTo(m, me)
	if body.command && l.attempt.Addressed && kind == access.Message {
		l.attempt.Kind = access.Command
	}
	l.request.From = senderOf(l.attempt)
	l.request.Text = wire.Text(body.text)
	l.request.Chat = wire.Chat{
		Native: strconv.FormatInt(m.ID, 10), Group: m.Chat.Type != private, Quote: quoteOf(m, me), Forwarded: forwardedBy(m),
	}
	l.media = mediaOf(m)
	return l
}

func readTap(c *botapi.CallbackQuery) letter {
	l := letter{what: tap, button: c, key: "c" + ascii(c.ID)}
	if c.Message == nil {
		return l
	}
	l.attempt = attemptOf(access.Callback, c.Message.Chat, &c.From, nil)
	l.attempt.Addressed = true
	l.topic = topicOf(c.Message)
	l.request.From = senderOf(l.attempt)
	l.request.Chat = wire.Chat{Group: c.Message.Chat.Type != private, Button: true}
	return l
}

func readReaction(update int64, r *botapi.MessageReaction) letter {
	l := letter{what: message, attempt: attemptOf(access.Reaction, r.Chat, r.User, r.ActorChat), key: "r" + strconv.FormatInt(update, 10)}
	l.attempt.Addressed = r.Chat.Type == private
	l.request.From = senderOf(l.attempt)
	now := emoji(r.New)
	l.request.Chat = wire.Chat{Group: r.Chat.Type != private, Reaction: &messagev1.Reacted{
		Native: strconv.FormatInt(r.MessageID, 10), Emoji: now,
		Removed: slices.DeleteFunc(emoji(r.Old), func(e string) bool { return slices.Contains(now, e) }),
	}}
	return l
}

const maxReactions = 16

func emoji(list []botapi.Reaction) []string {
	var out []string
	for _, r := range list[:min(len(list), maxReactions)] {
		switch e := cmp.Or(r.Emoji, r.Custom, r.Type); {
		case e == "paid":
			out = append(out, "⭐")
		case e != "":
			out = append(out, brief(e, 64))
		}
	}
	return out
}

// together is the one message that an album is: the messages in their order, each once, with the key of the first.
func together(letters []letter) letter {
	seen := map[string]bool{}
	letters = slices.DeleteFunc(letters, func(l letter) bool {
		again := seen[l.key]
		seen[l.key] = true
		return l.what != message || again
	})
	if len(letters) == 0 {
		return letter{}
	}
	slices.SortStableFunc(letters, func(a, b letter) int { return cmp.Compare(a.order, b.order) })
	all := letters[0]
	all.parts = letters
	var texts []string
	for i, l := range letters {
		if l.request.Text != "" {
			texts = append(texts, string(l.request.Text))
		}
		if i == 0 {
			continue
		}
		all.media = append(slices.Clip(all.media), l.media...)
		all.attempt.Addressed = all.attempt.Addressed || l.attempt.Addressed
		if all.request.Quote == nil {
			all.request.Quote = l.request.Quote
		}
		all.request.Forwarded = cmp.Or(all.request.Forwarded, l.request.Forwarded)
	}
	all.request.Text = wire.Text(strings.Join(texts, "\n"))
	return all
}

const private = "private" // Chat.type

// attemptOf says who does something where. A sender that is a chat (an anonymous administrator, a channel) stands for the
// user, who is made up then.
func attemptOf(kind access.Kind, in botapi.Chat, from *botapi.User, as *botapi.Chat) access.Attempt {
	a := access.Attempt{Kind: kind, Chat: in.ID, ChatKind: in.Type}
	switch {
	case as != nil:
		a.SenderChat, a.Name = as.ID, as.Title
		if a.SenderChat > 0 { // no chat that writes has such a number; and a person does
			a.SenderChat = -a.SenderChat
		}
		if a.SenderChat == 0 {
			a.SenderChat = in.ID
		}
	case from != nil:
		a.User, a.Bot, a.Name = from.ID, from.IsBot, nameOf(from)
	}
	return a
}

// senderOf is the identity of who attempts something: a number below 0 equals no person's.
func senderOf(a access.Attempt) messagev1.Sender {
	id := a.User
	if a.SenderChat != 0 {
		id = a.SenderChat
	}
	return messagev1.Sender{ID: access.Identity(channel, id), Name: a.Name}
}

func nameOf(u *botapi.User) string {
	return strings.TrimSpace(u.FirstName + " " + u.LastName)
}

// topicOf is the topic of a forum; the general one is none, as messages there do not name it. A person's chat is one conversation.
func topicOf(m *botapi.Message) int64 {
	if !m.IsTopic || m.Chat.Type == private {
		return 0
	}
	return m.Thread
}

// peer is the part of a session id that a conversation has: a chat, or a topic of it.
func peer(chat, topic int64) string {
	if topic == 0 {
		return strconv.FormatInt(chat, 10)
	}
	return fmt.Sprintf("%d_t%d", chat, topic)
}

// maxNative is the longest id of the server's that is part of a key as it is.
const maxNative = 128

// ascii makes an id of the server's fit for a key. Ids that differ stay different.
func ascii(id string) string {
	if len(id) <= maxNative && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "-" + hex.EncodeToString(sum[:16])
}
