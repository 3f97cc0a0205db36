package faketelegram

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Telegram puts these in the place of a sender who writes as a chat.
var (
	anonymousAdmin = User{ID: 1087968824, IsBot: true, FirstName: "Group", Username: "GroupAnonymousBot"}
	channelBot     = User{ID: 136817688, IsBot: true, FirstName: "Channel", Username: "Channel_Bot"}
)

// Say has a person say something where a bot hears it; options make it more than a text. With a file the text is its caption.
// It returns the message's id. The bot is named by its token or its username; "" is the only one.
func (s *Server) Say(bot string, in Chat, from User, text string, opts ...Option) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bot(bot)
	c := s.meet(b, in)
	if c.trouble == Blocked {
		c.trouble = NoTrouble
	}
	now := s.o.Now()
	m := &message{at: now, letter: letter{Date: now.Unix()}}
	if from.ID != 0 {
		m.From = &from
		s.users[from.ID] = from
		if c.members[from.ID] == "" {
			c.members[from.ID] = "member"
		}
	}
	if in.Type == "channel" {
		m.From, m.SenderChat = nil, &in
	}
	say := saying{s: s, b: b, c: c, m: m}
	for _, o := range opts {
		o(&say)
	}
	if say.topic != 0 {
		s.openTopic(say.topic, b, c, from)
		m.Thread, m.IsTopic = say.topic, true
	}
	m.word(text, say.entities)
	c.add(m)
	c.answerTo(m, say.replyTo)
	s.hear(b, c, m, false)
	return m.ID
}

// Edit has a person change a message of theirs.
func (s *Server) Edit(bot string, chatID int64, messageID int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m := s.must(chatID, messageID)
	m.EditDate = s.o.Now().Unix()
	m.word(text, nil)
	s.hear(s.bot(bot), c, m, true)
}

// Delete has a person delete a message, theirs or a bot's. A bot is not told.
func (s *Server) Delete(chatID int64, messageID int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone(s.must(chatID, messageID))
	s.changed()
}

// React has a person react to a message with these emoji, instead of what they reacted with before.
func (s *Server) React(bot string, chatID int64, messageID int, from User, emoji ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m := s.must(chatID, messageID)
	type reaction struct {
		Type  string `json:"type"`
		Emoji string `json:"emoji"`
	}
	list := func(emoji []string) []reaction {
		out := []reaction{}
		for _, e := range emoji {
			out = append(out, reaction{"emoji", e})
		}
		return out
	}
	old := m.reactions[from.ID]
	if m.reactions == nil {
		m.reactions = map[int64][]string{}
	}
	m.reactions[from.ID] = emoji
	s.users[from.ID] = from
	now := s.o.Now()
	s.tell(s.bot(bot), "message_reaction", c.ID, updateTTL, struct {
		Chat Chat       `json:"chat"`
		ID   int        `json:"message_id"`
		User User       `json:"user"`
		Date int64      `json:"date"`
		Old  []reaction `json:"old_reaction"`
		New  []reaction `json:"new_reaction"`
	}{c.Chat, m.ID, from, now.Unix(), list(old), list(emoji)})
}

// Migrate makes a group a supergroup: both say so, and the old one refuses messages with the new one's id.
func (s *Server) Migrate(bot string, from int64, to Chat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, old := s.bot(bot), s.chats[from]
	if old == nil {
		panic(fmt.Sprintf("faketelegram: migration of chat %d, which is not there", from))
	}
	c, now := s.meet(b, to), s.o.Now()
	c.members = maps.Clone(old.members)
	old.movedTo = to.ID
	out := old.add(&message{at: now, letter: letter{Date: now.Unix(), From: &anonymousAdmin, MigrateTo: to.ID}})
	s.hear(b, old, out, false)
	in := c.add(&message{at: now, letter: letter{Date: now.Unix(), From: &anonymousAdmin, MigrateFrom: from}})
	s.hear(b, c, in, false)
}

func (s *Server) must(chatID int64, messageID int) (*chat, *message) {
	if c := s.chats[chatID]; c != nil && c.messages[messageID] != nil {
		return c, c.messages[messageID]
	}
	panic(fmt.Sprintf("faketelegram: no message %d in chat %d", messageID, chatID))
}

// hear queues the update of a message.
func (s *Server) hear(b *bot, c *chat, m *message, edited bool) {
	kind := "message"
	if c.Type == "channel" {
		kind = "channel_post"
	}
	if edited {
		kind = "edited_" + kind
	}
	s.tell(b, kind, c.ID, updateTTL, m.letter)
}

// openTopic makes a topic of a forum be there, with the message that it begins with.
func (s *Server) openTopic(id int, b *bot, c *chat, from User) {
	if c.topics[id] {
		return
	}
	c.topics[id] = true
	c.last = max(c.last, id)
	now := s.o.Now()
	c.messages[id] = &message{at: now, letter: letter{
		ID: id, Thread: id, IsTopic: true, Chat: c.Chat, From: &from, Date: now.Unix(),
		TopicCreated: &topicCreated{Name: fmt.Sprintf("Topic %d", id), Color: 7322096},
	}}
	c.bots[b] = true
}

// word puts a text, or a caption, into the message, with the entities that Telegram finds and those that are given.
func (m *message) word(text string, given []Entity) {
	if text == "" {
		m.Text, m.Caption, m.Entities, m.CaptionEntities = "", "", nil, nil
		return
	}
	list := append(found(text), given...)
	slices.SortStableFunc(list, func(a, b Entity) int { return a.Offset - b.Offset })
	if m.isMedia() {
		m.Caption, m.CaptionEntities = text, list
		return
	}
	m.Text, m.Entities = text, list
}

func (m *message) isMedia() bool {
	return m.Photo != nil || m.Document != nil || m.Voice != nil || m.Audio != nil || m.Video != nil
}

var marks = []struct {
	kind string
	form *regexp.Regexp
}{
	{"bot_command", regexp.MustCompile(`(?:^|\s)(/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?)`)},
	{"mention", regexp.MustCompile(`(?:^|[^A-Za-z0-9_/])(@[A-Za-z0-9_]{3,32})`)},
	{"url", regexp.MustCompile(`(?:^|\s)(https?://[^\s]+)`)},
}

// found are the entities that Telegram marks by itself; a few kinds of them.
func found(text string) []Entity {
	var list []Entity
	for _, k := range marks {
		for _, at := range k.form.FindAllStringSubmatchIndex(text, -1) {
			word := strings.TrimRight(text[at[2]:at[3]], ".,!?;:")
			list = append(list, Entity{Type: k.kind, Offset: Units(text[:at[2]]), Length: Units(word)})
		}
	}
	return list
}
