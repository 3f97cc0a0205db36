package conversation

import (
	"fmt"
	"slices"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// forked begins a session with the past of another one: its title, its people, and what waits for an answer there waits here,
// too. Messages of the past are read where they were said, and what they have cost was spent there. Anywhere but at the
// beginning it means nothing.
func (s State) forked(ev envelope.Event, b turnv1.Forked) (State, Change) {
	if ev.Prev != 0 {
		return s, Change{}
	}
	past := State{}
	for _, line := range b.Events {
		old, err := envelope.ParseLine(line, registry.Decode)
		if err != nil { // nobody here knows what it leaves to do
			old = envelope.Event{ID: ev.ID, Cursor: ev.Cursor, Time: ev.Time, Body: envelope.Unknown{Err: err}}
		}
		past, _ = past.Apply(old)
	}
	s.ForkOf, s.ForkAt = b.From, b.At
	s.Title, s.TitleOf, s.People, s.More = past.Title, past.TitleOf, past.People, past.More
	s.Claim = past.Claim
	s.Claim.Open = false // the call is made again
	s.Due = past.close(func(d Due) bool { return !inherited(d) }).Due
	return s.say(ev, Notice, fmt.Sprintf("This goes on from event %d of %s.", b.At, b.From), "", "")
}

// inherited says whether something that is open stays so in a fork: what a person is to be answered, and the turn that does so.
// Calls have no result there, nothing is asked or shown again, and a command that was answered at once is not repeated.
func inherited(d Due) bool {
	switch d.Kind {
	case OpenMessage, OpenTurn, OpenNewer:
		return true
	case OpenControl:
		return slices.Contains([]string{string(messagev1.New), string(messagev1.Compact)}, d.Verb)
	}
	return false
}
