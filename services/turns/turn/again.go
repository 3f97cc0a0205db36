package turn

import (
	"slices"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Started are the ids of the turns of a history (see Unfold), in the order in which they began. id is the session that it is
// the history of.
func Started(history []envelope.Event, id session.ID) []string {
	var ids []string
	var s State
	for _, ev := range history {
		before := s.Turn
		if s = s.next(ev, id); before == nil && s.Turn != nil {
			ids = append(ids, s.Turn.ID)
		}
	}
	return ids
}

func (s State) next(ev envelope.Event, id session.ID) State {
	if ev.Session != id {
		return s.Inherit(ev)
	}
	return s.Apply(ev)
}

// Before is the session as it was just before one of its turns began, as far as that turn has to do with it: nothing runs,
// and what waits are the turn's messages, those included that came while it ran. of are the events from the turn's first
// claim on.
func Before(history []envelope.Event, id session.ID, turn string) (s State, of []envelope.Event) {
	for i, ev := range history {
		after := s.next(ev, id)
		if s.Turn == nil && after.Turn != nil && after.Turn.ID == turn {
			of = history[i:]
			break
		}
		s = after
	}
	messages, last := shown(of, turn)
	for _, ev := range of[:last] {
		switch ev.Body.(type) {
		case messagev1.Received, messagev1.Edited:
			s = s.next(ev, id)
		}
	}
	s.Inbox = slices.DeleteFunc(slices.Clone(s.Inbox), func(it Item) bool { return !slices.Contains(messages, it.ID) })
	s.Orders, s.Stop, s.Compaction, s.Usage = nil, nil, nil, Total{}
	return s, of
}

// shown are the messages that a turn has answered, and the place of its last claim.
func shown(events []envelope.Event, turn string) (messages []string, last int) {
	for i, ev := range events {
		var c turnv1.Claim
		switch b := ev.Body.(type) {
		case turnv1.Started:
			c = b.Claim
		case turnv1.Continued:
			c = b.Claim
		case turnv1.Resumed:
			c = b.Claim
		}
		if c.Turn == turn {
			messages, last = c.Messages, i
		}
	}
	return messages, last
}

// Again claims the first model call of a turn that is played again on what Before has left.
func (s State) Again(turn string) turnv1.Claim {
	return turnv1.Claim{Turn: turn, Round: 1, Attempt: 1, Messages: ids(s.Inbox)}
}

// Call is a call of the last step.
func (t *Turn) Call(id string) (Call, bool) {
	for _, c := range t.calls() {
		if c.ID == id {
			return c, true
		}
	}
	return Call{}, false
}
