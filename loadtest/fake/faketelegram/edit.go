package faketelegram

import (
	"slices"
	"time"
)

const deletable = 48 * time.Hour

// own is the message of a call, if the bot may change it.
func (s *Server) own(q *query) (*chat, *message, error) {
	if q.args["chat_id"] == "" && q.int("message_id") == 0 {
		return nil, nil, bad("message identifier is not specified") // there are no inline messages here
	}
	c, err := s.reach(q, edit)
	if err != nil {
		return nil, nil, err
	}
	m := c.find(int(q.int("message_id")))
	switch {
	case m == nil:
		return nil, nil, bad("message to edit not found")
	case m.bot != q.bot:
		return nil, nil, bad("message can't be edited")
	}
	return c, m, nil
}

// change edits a message, if there is something to change and the limits allow it.
func (s *Server) change(q *query, c *chat, m *message, with content) (any, error) {
	if m.Text == with.text && same(m.Markup, with.markup) && slices.EqualFunc(m.Entities, with.entities, sameEntity) {
		s.count.unmodified++
		return nil, bad("message is not modified: specified new message content and reply markup are exactly the same " +
			"as a current content and reply markup of the message")
	}
	now := s.o.Now()
	if wait := q.bot.limits.edit(c.ID, now); wait > 0 {
		s.count.tooMany++
		return nil, tooMany(wait)
	}
	s.stands(c, m.Text, -1)
	s.stands(c, with.text, 1)
	m.Text, m.Entities, m.Markup, m.LinkPreview, m.EditDate = with.text, with.entities, with.markup, with.preview, now.Unix()
	m.note(q.name, now)
	s.count.edits++
	return m.letter, nil
}

func (s *Server) editMessageText(q *query) (any, error) {
	with, err := s.content(q)
	if err != nil {
		return nil, err
	}
	c, m, err := s.own(q)
	if err != nil {
		return nil, err
	}
	return s.change(q, c, m, with)
}

func (s *Server) editMessageReplyMarkup(q *query) (any, error) {
	k, err := readMarkup(q.args["reply_markup"])
	if err != nil {
		return nil, err
	}
	c, m, err := s.own(q)
	if err != nil {
		return nil, err
	}
	return s.change(q, c, m, content{text: m.Text, entities: m.Entities, markup: k, preview: m.LinkPreview})
}

func (s *Server) deleteMessage(q *query) (any, error) {
	switch {
	case q.args["chat_id"] == "":
		return nil, bad("chat identifier is not specified")
	case q.int("message_id") == 0:
		return nil, bad("message identifier is not specified")
	}
	c, err := s.reach(q, post)
	if err != nil {
		return nil, err
	}
	m := c.find(int(q.int("message_id")))
	switch {
	case m == nil:
		return nil, bad("message to delete not found")
	case m.bot != q.bot && !c.isPrivate() && c.members[q.bot.ID] != "administrator":
		return nil, bad("message can't be deleted")
	case s.o.Now().Sub(m.at) > deletable:
		return nil, bad("message can't be deleted for everyone")
	}
	s.gone(c, m)
	s.count.deletes++
	return true, nil
}

func same(a, b *markup) bool {
	return a == nil && b == nil || a != nil && b != nil && string(encode(a)) == string(encode(b))
}

func sameEntity(a, b Entity) bool {
	if a.User != nil && b.User != nil && *a.User == *b.User {
		a.User, b.User = nil, nil
	}
	return a == b
}
