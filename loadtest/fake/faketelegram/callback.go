package faketelegram

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

const maxAnswer = 200 // characters of the answer to a tap

// tap is a press of a button.
type tap struct {
	bot    *bot
	at     time.Time
	answer *Answer
}

// Answer is what a bot said to a tap.
type Answer struct {
	At    time.Time
	Text  string
	Alert bool
}

// Tap presses a button of a bot's message, whether the message has it or not: a person may see an old keyboard. It returns the
// id of the callback query.
func (s *Server) Tap(chatID int64, messageID int, data string, from User) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[chatID]
	if c == nil || c.messages[messageID] == nil || c.messages[messageID].bot == nil {
		panic(fmt.Sprintf("faketelegram: tap on message %d of chat %d, which no bot has sent", messageID, chatID))
	}
	m := c.messages[messageID]
	s.users[from.ID] = from
	s.serial++
	id := strconv.FormatInt(4000000000000000000+int64(s.serial), 10)
	now := s.o.Now()
	s.taps[id] = &tap{bot: m.bot, at: now}
	var shown any = m.letter
	if m.deleted {
		shown = struct {
			Chat Chat  `json:"chat"`
			ID   int   `json:"message_id"`
			Date int64 `json:"date"`
		}{c.Chat, m.ID, 0} // an InaccessibleMessage
	}
	s.tell(m.bot, "callback_query", c.ID, tapTTL, struct {
		ID       string `json:"id"`
		From     User   `json:"from"`
		Message  any    `json:"message"`
		Instance string `json:"chat_instance"`
		Data     string `json:"data"`
	}{id, from, shown, strconv.FormatInt(c.ID*31, 10), data})
	return id
}

// Answer is what the bot said to a tap; false: nothing yet.
func (s *Server) Answer(callbackID string) (Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.taps[callbackID]
	if t == nil || t.answer == nil {
		return Answer{}, false
	}
	return *t.answer, true
}

func (s *Server) answerCallbackQuery(q *query) (any, error) {
	t, now := s.taps[q.args["callback_query_id"]], s.o.Now()
	if t == nil || t.bot != q.bot || t.answer != nil || now.Sub(t.at) > s.o.CallbackTTL {
		return nil, bad("query is too old and response timeout expired or query ID is invalid")
	}
	text := q.args["text"]
	if utf8.RuneCountInString(text) > maxAnswer {
		return nil, bad("MESSAGE_TOO_LONG")
	}
	t.answer = &Answer{At: now, Text: text, Alert: q.bool("show_alert")}
	return true, nil
}
