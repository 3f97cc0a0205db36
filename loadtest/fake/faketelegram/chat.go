package faketelegram

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Trouble is why a chat refuses what a bot sends.
type Trouble int

// The troubles of a chat.
const (
	NoTrouble   Trouble = iota
	NotFound            // 400: as if it were not there
	Blocked             // 403: the person blocked the bot; ends when they write again
	Kicked              // 403: the bot was removed from the group
	Deactivated         // 403: the person's account is gone
	NoRights            // 400: the bot may not write there
)

// chat is a chat with its messages. All is guarded by Server.mu.
type chat struct {
	Chat
	bots     map[*bot]bool // that know it
	messages map[int]*message
	order    []int          // ids of the bots' messages
	texts    map[string]int // of the bots' messages that stand
	last     int            // id of the last message
	topics   map[int]bool
	members  map[int64]string // status by user
	trouble  Trouble
	movedTo  int64
}

// message is one of a chat, of a person or a bot.
type message struct {
	letter
	bot       *bot // that sent it; nil: a person
	at        time.Time
	deleted   bool
	reactions map[int64][]string // of each person
	history   []Version
}

// meet makes the chat known to a bot; s.mu is held.
func (s *Server) meet(b *bot, info Chat) *chat {
	c := s.chats[info.ID]
	if c == nil {
		c = &chat{bots: map[*bot]bool{}, messages: map[int]*message{}, topics: map[int]bool{}, texts: map[string]int{}, members: map[int64]string{}}
		s.chats[info.ID] = c
	}
	c.Chat = info
	c.bots[b] = true
	return c
}

// AddChat makes a chat known to a bot without a word said in it.
func (s *Server) AddChat(name string, c Chat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meet(s.bot(name), c)
}

// Refuse makes a chat refuse from now on; NoTrouble ends it.
func (s *Server) Refuse(id int64, t Trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.chats[id]; c != nil {
		c.trouble = t
	}
}

// SetMember gives a person a status in a chat: "creator", "administrator", "member", "restricted", "left", "kicked".
func (s *Server) SetMember(id int64, u User, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[u.ID] = u
	if c := s.chats[id]; c != nil {
		c.members[u.ID] = status
	}
}

// CloseTopic deletes a topic of a forum; messages to it are refused.
func (s *Server) CloseTopic(id int64, topic int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.chats[id]; c != nil {
		delete(c.topics, topic)
		delete(c.messages, topic)
	}
}

// access is what a call wants of a chat.
type access int

const (
	read access = iota
	edit
	post
)

// reach finds the chat that a call names, if it may be used so.
func (s *Server) reach(q *query, want access) (*chat, error) {
	text := q.args["chat_id"]
	if text == "" {
		return nil, bad("chat_id is empty")
	}
	var c *chat
	if name, ok := strings.CutPrefix(text, "@"); ok {
		for _, id := range slices.Sorted(maps.Keys(s.chats)) {
			if x := s.chats[id]; !x.isPrivate() && strings.EqualFold(x.Username, name) {
				c = x
			}
		}
	} else if id, err := strconv.ParseInt(text, 10, 64); err == nil {
		c = s.chats[id]
	}
	if c == nil || !c.bots[q.bot] || c.trouble == NotFound {
		return nil, bad("chat not found")
	}
	if want == read && c.trouble != Kicked {
		return c, nil
	}
	switch c.trouble {
	case NoTrouble, NotFound:
	case Deactivated:
		return nil, refuse(http.StatusForbidden, "Forbidden: user is deactivated")
	case Blocked:
		return nil, refuse(http.StatusForbidden, "Forbidden: bot was blocked by the user")
	case Kicked:
		return nil, refuse(http.StatusForbidden, "Forbidden: bot was kicked from the "+c.Type+" chat")
	case NoRights:
		return nil, bad("not enough rights to send text messages to the chat")
	}
	if c.movedTo != 0 && want == post {
		return nil, &refusal{
			code: http.StatusBadRequest, migrateTo: c.movedTo,
			text: "Bad Request: group chat was upgraded to a supergroup chat",
		}
	}
	return c, nil
}

// topic is the thread that a call names, or 0. Where there are no topics Telegram passes it by.
func (c *chat) topic(q *query) (int, error) {
	id := int(q.int("message_thread_id"))
	if id == 0 || !c.IsForum {
		return 0, nil
	}
	if !c.topics[id] { // the general topic is 1, and must not be named
		return 0, bad("message thread not found")
	}
	return id, nil
}

// find is a message that can be seen.
func (c *chat) find(id int) *message {
	if m := c.messages[id]; m != nil && !m.deleted {
		return m
	}
	return nil
}

func (c *chat) add(m *message) *message {
	c.last++
	m.ID, m.letter.Chat = c.last, c.Chat
	c.messages[m.ID] = m
	if m.bot != nil {
		c.order = append(c.order, m.ID)
	}
	return m
}

// said is a text in a chat.
type said struct {
	chat int64
	text string
}

// stands counts a text of a bot's message in or out.
func (s *Server) stands(c *chat, text string, n int) {
	c.texts[text] += n
	now := c.texts[text]
	if now == 0 {
		delete(c.texts, text)
	}
	if now > 1 {
		s.repeated[said{c.ID, text}] = now
	} else {
		delete(s.repeated, said{c.ID, text})
	}
}

// gone deletes a message.
func (s *Server) gone(c *chat, m *message) {
	if m.bot != nil && !m.deleted {
		s.stands(c, m.Text, -1)
	}
	m.deleted = true
}

// answerTo puts the message that is replied to into m, without what that one replies to. In a topic it is the topic's first.
func (c *chat) answerTo(m *message, id int) {
	if id == 0 {
		id = m.Thread
	}
	if to := c.find(id); to != nil {
		flat := to.letter
		flat.ReplyTo = nil
		m.ReplyTo = &flat
	}
}

func (s *Server) getChat(q *query) (any, error) {
	c, err := s.reach(q, read)
	if err != nil {
		return nil, err
	}
	return struct {
		Chat
		Colour    int `json:"accent_color_id"`
		Reactions int `json:"max_reaction_count"`
	}{Chat: c.Chat, Reactions: 11}, nil
}

func (s *Server) getChatMember(q *query) (any, error) {
	id := q.int("user_id")
	if id <= 0 {
		return nil, bad("invalid user_id specified")
	}
	c, err := s.reach(q, read)
	if err != nil {
		return nil, err
	}
	u, status := s.users[id], c.members[id]
	switch {
	case id == q.bot.ID:
		u, status = q.bot.user(), orElse(status, "member")
	case u.ID == 0:
		return nil, bad("user not found")
	}
	return struct {
		User   User   `json:"user"`
		Status string `json:"status"`
	}{u, orElse(status, "left")}, nil
}
