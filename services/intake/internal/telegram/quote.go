package telegram

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

// answered is the message that m replies to; nil for none, or one that is gone. In a topic of a forum every message that replies
// to nothing else names the message that the topic began with: that is no reply.
func answered(m *botapi.Message) *botapi.Message {
	r := m.ReplyTo
	if r == nil || r.ID == 0 || m.IsTopic && r.ID == m.Thread {
		return nil
	}
	return r
}

// repliesTo says whether m is a reply to the bot.
func repliesTo(m *botapi.Message, me botapi.User) bool {
	r := answered(m)
	return r != nil && r.From != nil && r.From.ID == me.ID && r.SenderChat == nil
}

func quoteOf(m *botapi.Message, me botapi.User) *messagev1.Quote {
	r := answered(m)
	if r == nil {
		return nil
	}
	q := &messagev1.Quote{Native: strconv.FormatInt(r.ID, 10), Own: repliesTo(m, me)}
	switch {
	case r.SenderChat != nil:
		q.From = r.SenderChat.Title
	case r.From != nil:
		q.From = nameOf(r.From)
	}
	if m.Quote != nil {
		q.Text = m.Quote.Text
	}
	q.Text = cmp.Or(q.Text, r.Text, r.Caption, lineOf(r))
	return q
}

// forwardedBy is who has written it first, "" when the sender has. It is never empty for what was forwarded, or comes from an
// inline bot: on it depends whether the text is taken for the sender's own.
func forwardedBy(m *botapi.Message) string {
	o := m.ForwardOrigin
	switch {
	case o != nil:
	case m.ViaBot != nil: // whoever picks a result sees its title, and not what it says
		return "the bot " + cmp.Or(strings.TrimSpace(brief(cmp.Or(m.ViaBot.Username, m.ViaBot.FirstName), maxPart)), "of somebody")
	case m.ForwardDate != 0:
		return "somebody"
	default:
		return ""
	}
	name := o.SenderName
	switch {
	case o.SenderUser != nil:
		name = nameOf(o.SenderUser)
	case o.SenderChat != nil:
		name = o.SenderChat.Title
	case o.Chat != nil:
		name = o.Chat.Title
	}
	return cmp.Or(strings.TrimSpace(brief(name, maxPart)), "somebody")
}
