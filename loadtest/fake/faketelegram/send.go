package faketelegram

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

const (
	maxRequest = 32 << 10 // of a call with a text
	actions    = " typing upload_photo record_video upload_video record_audio upload_audio record_voice upload_voice " +
		"upload_document choose_sticker find_location pick_up_location record_video_note upload_video_note cancel "
)

// content is what a message says.
type content struct {
	text     string
	entities []Entity
	markup   *markup
	preview  json.RawMessage
}

// content reads the text of a call and all that belongs to it.
func (s *Server) content(q *query) (content, error) {
	var c content
	var err error
	if q.size > maxRequest {
		return c, refuse(http.StatusRequestEntityTooLarge, "Request Entity Too Large")
	}
	if q.args["text"] == "" {
		return c, bad("message text is empty")
	}
	if p := q.args["link_preview_options"]; p != "" {
		if c.preview, err = preview(p); err != nil {
			return c, err
		}
	}
	if !s.o.Lenient && q.args["parse_mode"] != "" {
		return c, bad("strict: parse_mode is not for us; send entities")
	}
	if c.text, c.entities, err = s.formatted(q.args["text"], q.args["entities"]); err != nil {
		return c, err
	}
	c.markup, err = readMarkup(q.args["reply_markup"])
	return c, err
}

func preview(p string) (json.RawMessage, error) {
	var o *struct {
		Disabled bool   `json:"is_disabled,omitempty"`
		URL      string `json:"url,omitempty"`
		Small    bool   `json:"prefer_small_media,omitempty"`
		Large    bool   `json:"prefer_large_media,omitempty"`
		Above    bool   `json:"show_above_text,omitempty"`
	}
	if err := json.Unmarshal([]byte(p), &o); err != nil {
		return nil, bad("can't parse link preview options JSON object")
	}
	if o == nil {
		return nil, bad("object expected as link preview options")
	}
	return encode(o), nil
}

func (s *Server) sendMessage(q *query) (any, error) {
	said, err := s.content(q)
	if err != nil {
		return nil, err
	}
	to, without, err := replyTo(q)
	if err != nil {
		return nil, err
	}
	c, err := s.reach(q, post)
	if err != nil {
		return nil, err
	}
	thread, err := c.topic(q)
	if err != nil {
		return nil, err
	}
	if to != 0 && c.find(to) == nil {
		if !without {
			return nil, bad("message to be replied not found")
		}
		to = 0
	}
	now := s.o.Now()
	if wait := q.bot.limits.send(c.ID, c.isGroup(), now); wait > 0 {
		s.count.tooMany++
		return nil, tooMany(wait)
	}
	bot := q.bot.user()
	m := c.add(&message{
		bot: q.bot, at: now,
		letter: letter{
			Date: now.Unix(), From: &bot, Thread: thread, IsTopic: thread != 0,
			Text: said.text, Entities: said.entities, Markup: said.markup, LinkPreview: said.preview,
		},
	})
	if c.Type == "channel" {
		m.From, m.SenderChat = nil, &c.Chat
	}
	c.answerTo(m, to)
	m.note("sendMessage", now)
	s.stands(c, m.Text, 1)
	s.count.messages++
	return m.letter, nil
}

// replyTo reads reply_parameters, or the older reply_to_message_id.
func replyTo(q *query) (id int, without bool, err error) {
	p := q.args["reply_parameters"]
	if p == "" {
		return int(max(q.int("reply_to_message_id"), 0)), q.bool("allow_sending_without_reply"), nil
	}
	var o *struct {
		ID      *int `json:"message_id"`
		Without bool `json:"allow_sending_without_reply"`
	}
	if err := json.Unmarshal([]byte(p), &o); err != nil {
		return 0, false, bad("can't parse reply parameters JSON object")
	}
	switch {
	case o == nil:
		return 0, false, bad("object expected as reply parameters")
	case o.ID == nil:
		return 0, false, bad(`can't find field "message_id"`)
	}
	return max(*o.ID, 0), o.Without, nil
}

// sendMessageDraft shows a text for half a minute in a private chat; nothing stays of it but the call.
func (s *Server) sendMessageDraft(q *query) (any, error) {
	if q.int("draft_id") == 0 {
		return nil, bad("draft_id must be non-zero")
	}
	if _, err := s.content(q); err != nil {
		return nil, err
	}
	c, err := s.reach(q, post)
	if err != nil {
		return nil, err
	}
	if !c.isPrivate() {
		return nil, bad("message drafts can be sent only to private chats")
	}
	return true, nil
}

func (s *Server) sendChatAction(q *query) (any, error) {
	if a := q.args["action"]; a == "" || !strings.Contains(actions, " "+strings.ToLower(a)+" ") {
		return nil, bad("wrong parameter action in request")
	}
	if _, err := s.reach(q, post); err != nil {
		return nil, err
	}
	return true, nil
}

// reactions are some of the emoji that a bot may react with.
const reactions = " 👍 👎 ❤ 🔥 👀 👌 "

// setMessageReaction shows a reaction below a message; nothing stays of it but the call.
func (s *Server) setMessageReaction(q *query) (any, error) {
	var list []struct {
		Type  string `json:"type"`
		Emoji string `json:"emoji"`
	}
	if q.args["reaction"] != "" && json.Unmarshal([]byte(q.args["reaction"]), &list) != nil {
		return nil, bad("can't parse reaction")
	}
	for _, r := range list {
		if r.Type != "emoji" || !strings.Contains(reactions, " "+r.Emoji+" ") {
			return nil, bad("REACTION_INVALID")
		}
	}
	if _, err := s.reach(q, post); err != nil {
		return nil, err
	}
	if q.int("message_id") <= 0 {
		return nil, bad("message to react not found")
	}
	return true, nil
}

// note adds to the message's history what it says now.
func (m *message) note(method string, now time.Time) {
	v := Version{At: now, Method: method, Text: m.Text, Entities: m.Entities}
	if m.Markup != nil {
		v.Markup = m.Markup.Inline
	}
	m.history = append(m.history, v)
}
