package faketelegram

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

const maxCalls = 200_000

// Call is one that came in, once it is over.
type Call struct {
	At          time.Time
	Took        time.Duration
	Bot         string // username; "" of a token that nobody has
	Method      string // as it was written; "file" for a download
	Chat        int64  // chat_id, when it is a number
	Params      map[string]string
	Status      int // 0: the connection was closed without an answer
	Description string
}

// Message is what a bot sent, as it is now.
type Message struct {
	ID       int
	Chat     int64
	Bot      string // username
	Thread   int    // topic
	ReplyTo  int    // in a topic the topic itself, if nothing else
	At       time.Time
	Text     string
	Entities []Entity
	Markup   [][]Button
	Preview  string    // link_preview_options as JSON
	History  []Version // how it was sent, then each edit
}

// Version is what a message said after a call.
type Version struct {
	At       time.Time
	Method   string
	Text     string
	Entities []Entity
	Markup   [][]Button
}

// counters are what is only counted.
type counters struct {
	updates, sent, confirmed    int
	polls, overlaps, conflicts  int
	messages, edits, unmodified int
	deletes, tooMany, hookFails int
	faults                      int
	refused                     map[string]int
}

// Report is what happened so far.
type Report struct {
	Updates   int // that the bots were to get
	Sent      int // deliveries, repeated ones each time
	Confirmed int // by offset, or taken by a webhook
	Pending   int // not yet confirmed

	Polls      int // getUpdates
	Overlaps   int // of them, that came while another of the same bot waited
	Conflicts  int // of them, that ended with 409
	HookErrors int // tries to reach a webhook that failed

	Messages   int // sent
	Edits      int // that changed something
	Unmodified int // edits that were refused, as nothing would have changed
	Deletes    int
	TooMany    int            // 429 by the limits
	Refused    map[string]int // other refusals of methods, by description
	Faults     int            // that were arranged, and happened
	Violations Violations     // of the strict measure of the limits
	Duplicates []Duplicate    // texts that stand in a chat more than once
}

// Duplicate is a text that the bots' messages in a chat have in common.
type Duplicate struct {
	Chat  int64
	Text  string
	Times int
}

func (s *Server) record(c Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) >= maxCalls {
		s.calls = slices.Delete(s.calls, 0, maxCalls/2)
	}
	s.calls = append(s.calls, c)
	s.changed()
}

// Calls are the last that came in and are over (at least 100,000), in the order in which they ended.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Messages are the bots' messages that stand in a chat, as they are now.
func (s *Server) Messages(chat int64) []Message { return s.list(chat, false) }

// Deleted are the bots' messages in a chat that were deleted, as they were last.
func (s *Server) Deleted(chat int64) []Message { return s.list(chat, true) }

func (s *Server) list(id int64, deleted bool) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[id]
	if c == nil {
		return nil
	}
	var out []Message
	for _, n := range c.order {
		if m := c.messages[n]; m != nil && m.deleted == deleted {
			out = append(out, m.public())
		}
	}
	return out
}

func (m *message) public() Message {
	last := m.history[len(m.history)-1]
	out := Message{
		ID: m.ID, Chat: m.letter.Chat.ID, Bot: m.bot.Username, Thread: m.Thread, At: m.at,
		Text: last.Text, Entities: last.Entities, Markup: last.Markup, Preview: string(m.LinkPreview),
		History: slices.Clone(m.history),
	}
	if m.ReplyTo != nil {
		out.ReplyTo = m.ReplyTo.ID
	}
	return out
}

// Report is what happened so far.
func (s *Server) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.count
	r := Report{
		Updates: n.updates, Sent: n.sent, Confirmed: n.confirmed,
		Polls: n.polls, Overlaps: n.overlaps, Conflicts: n.conflicts, HookErrors: n.hookFails,
		Messages: n.messages, Edits: n.edits, Unmodified: n.unmodified, Deletes: n.deletes,
		TooMany: n.tooMany, Refused: maps.Clone(n.refused), Faults: n.faults,
	}
	for _, b := range s.bots {
		r.Pending += b.waiting
		v := b.limits.bad
		r.Violations.Chat += v.Chat
		r.Violations.Group += v.Group
		r.Violations.Overall += v.Overall
		r.Violations.Edit += v.Edit
		r.Violations.Held += v.Held
	}
	for t, n := range s.repeated {
		r.Duplicates = append(r.Duplicates, Duplicate{t.chat, t.text, n})
	}
	slices.SortFunc(r.Duplicates, func(a, b Duplicate) int {
		return cmp.Or(cmp.Compare(a.Chat, b.Chat), cmp.Compare(a.Text, b.Text))
	})
	return r
}
