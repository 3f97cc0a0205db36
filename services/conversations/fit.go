package conversations

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/services/conversations/internal/store"
)

const (
	answerBytes = bus.MaxRequest - 200<<10 // of what an answer lists; its frame takes the rest
	hitBytes    = 600                      // of the text of a message that was found
	openListed  = 20                       // of a conversation in a list
	openGot     = 500                      // of one that was asked for
)

// room is what is left of an answer.
type room struct{ left int }

// takes says whether something has room, and takes that.
func (r *room) takes(v any) bool {
	n := size(v)
	if n > r.left {
		return false
	}
	r.left -= n
	return true
}

// size is how large something is as JSON, at least.
func size(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return answerBytes + 1 // whoever sends it will see the error
	}
	return len(data)
}

// fit shortens a page until it has room: of many messages those that are nearest to where it begins stay, of one its text is cut.
func fit(messages []Message, oldest bool) []Message {
	r := room{answerBytes}
	kept := []Message{}
	if !oldest {
		slices.Reverse(messages)
	}
	for _, m := range messages {
		for most := len(m.Text) / 2; len(kept) == 0 && size(m) > answerBytes && most > 0; most /= 2 {
			m = m.Shortened(most)
		}
		if !r.takes(m) {
			break
		}
		kept = append(kept, m)
	}
	if !oldest {
		slices.Reverse(kept)
	}
	return kept
}

// short is the beginning of a text.
func short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// viewed is a conversation as it is shown.
func viewed(row store.Session) Conversation {
	st := row.State
	c := Conversation{
		Session: row.ID, Agent: row.ID.Agent(), Channel: row.ID.Channel(), Account: row.ID.Account(), Peer: row.ID.Peer(),
		Title: st.Title, People: st.Names(), First: st.First, Last: st.Last, Created: st.Created, Updated: st.Updated,
		Messages: st.Messages, Answers: st.Answers, Turns: st.Turns, Calls: st.Calls, Events: st.Events,
		Tokens: st.Tokens, Cost: st.Cost, LastMessage: st.LastMessage, Open: st.Open(), ForkOf: st.ForkOf, ForkAt: st.ForkAt,
	}
	c.Open = c.Open[:min(len(c.Open), openGot)]
	return c
}

// listed is a conversation in a list.
func listed(row store.Session) Conversation {
	c := viewed(row)
	c.Open = c.Open[:min(len(c.Open), openListed)]
	return c
}
