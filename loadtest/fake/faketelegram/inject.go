package faketelegram

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Inject queues any update for the only bot, as it is; see InjectTo.
func (s *Server) Inject(raw json.RawMessage) { s.InjectTo("", raw) }

// InjectTo queues any update for a bot, as it is. An object without an update_id gets the next one; one with a later id moves
// the count on. What has no id that could confirm it (an earlier one, or nothing readable) is sent once. What is not JSON
// spoils the answer that it comes with.
func (s *Server) InjectTo(name string, raw json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bot(name)
	u := &update{id: b.next, raw: slices.Clone(raw), dies: s.o.Now().Add(updateTTL)}
	var object map[string]json.RawMessage
	var id int64
	unreadable := json.Unmarshal(raw, &object) != nil || object == nil
	own, has := object["update_id"]
	switch {
	case unreadable:
		u.once = true
	case !has:
		object["update_id"] = strconv.AppendInt(nil, b.next, 10)
		u.raw = encode(object)
	case json.Unmarshal(own, &id) != nil || id < b.next:
		u.once = true
	default:
		u.id = id
	}
	if !u.once {
		b.next = u.id + 1
	}
	s.enqueue(b, u)
}

// Replay sends the last n confirmed updates a second time, as Telegram sometimes does.
func (s *Server) Replay(name string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bot(name)
	for _, u := range b.past[max(0, len(b.past)-n):] {
		again := *u
		again.once, again.done, again.id = true, false, b.next
		s.enqueue(b, &again)
	}
}

// SkipTo makes id that of the next update: after a week of silence Telegram begins anew anywhere. That is, when all updates
// are confirmed.
func (s *Server) SkipTo(name string, id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bot(name).next = id
}

// Revoke makes a bot's token worthless: every call gets 401.
func (s *Server) Revoke(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bot(name)
	b.revoked = true
	b.endPoll("Unauthorized")
}

// Polling tells whether a getUpdates of the bot waits now.
func (s *Server) Polling(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bot(name).poll != nil
}

// Allowed are the updates that the bot gets.
func (s *Server) Allowed(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bot(name)
	return slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return !b.allows(k) })
}
