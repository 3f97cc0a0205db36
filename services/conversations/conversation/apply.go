package conversation

import (
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Change is what an event does to the messages of its session.
type Change struct {
	Message *Message // a new one
	Edited  string   // id of the message that Text replaces the text of; "" for none
	Text    string
	Deleted bool // all of them go, with the session
}

// Apply folds one committed event, and says what becomes of the messages.
func (s State) Apply(ev envelope.Event) (State, Change) {
	if _, ok := ev.Body.(turnv1.SessionDeleted); ok {
		return State{}, Change{Deleted: true} // what was open was purged with the rest
	}
	s = s.count(ev)
	switch b := ev.Body.(type) {
	case messagev1.Event:
		return s.outside(ev, b)
	case turnv1.Event:
		return s.turn(ev, b)
	case callv1.Event:
		return s.call(ev, b), Change{}
	case approvalv1.Event:
		return s.approval(ev, b)
	case noticev1.Posted:
		s = s.answered(b.Answers...)
		if b.Service == approvalsService {
			s = s.taken(b.Answers)
		}
		if b.Quiet {
			return s, Change{}
		}
		next, change := s.show(ev, b.Text, Due{})
		if b.By == "" {
			return next, change
		}
		return next.as(Assistant, "", b.By, change)
	case deliveryv1.Event:
		return s.delivery(b), Change{}
	case envelope.Unknown:
		if s.find(func(d Due) bool { return d.Kind == OpenNewer }) < 0 {
			s = s.open(ev, Due{Open: Open{Kind: OpenNewer, ID: ev.ID}})
		}
	}
	return s, Change{}
}

// approvalsService posts the notices that answer decisions.
const approvalsService = "approvals"

func (s State) count(ev envelope.Event) State {
	if s.Events == 0 {
		s.First, s.Created = ev.Cursor, wall(ev.Time)
	}
	s.Events++
	s.Last, s.LastID = ev.Cursor, ev.ID
	if !ev.Time.IsZero() { // of an event that cannot be read
		s.Updated = wall(ev.Time)
	}
	return s
}

// outside folds what people send. The same fact may be stored twice; the second one is passed by.
func (s State) outside(ev envelope.Event, b messagev1.Event) (State, Change) {
	switch b := b.(type) {
	case messagev1.Decision:
		return s.submitted(ev), Change{}
	case messagev1.Refused:
		if b.Tell {
			return s.show(ev, b.Detail, Due{})
		}
		return s, Change{}
	case messagev1.Reacted, messagev1.Quarantined, messagev1.PermissionAnswer:
		return s, Change{}
	case messagev1.Received, messagev1.Edited, messagev1.Control:
	}
	if ev.Key != "" {
		if slices.Contains(s.Seen, ev.Key) {
			return s, Change{}
		}
		s.Seen = last(s.Seen, ev.Key, maxSeen)
	}
	switch b := b.(type) {
	case messagev1.Received:
		return s.received(ev, b)
	case messagev1.Edited:
		return s.edited(b)
	case messagev1.Control:
		return s.control(ev, b)
	case messagev1.Decision, messagev1.Refused, messagev1.Reacted, messagev1.Quarantined, messagev1.PermissionAnswer:
	}
	return s, Change{}
}

func (s State) received(ev envelope.Event, b messagev1.Received) (State, Change) {
	s = s.met(b.From).open(ev, Due{Open: Open{Kind: OpenMessage, ID: ev.ID}})
	s.Messages++
	if s.TitleOf == "" {
		s.TitleOf, s.Title = ev.ID, title(b.Text, b.Files)
	}
	return s.said(Message{
		ID: ev.ID, Cursor: ev.Cursor, Time: wall(ev.Time), Role: User, From: Person{b.From.ID, b.From.Name}.String(),
		Text: b.Text, Files: b.Files,
	})
}

// edited replaces the text of a message, whatever a model has been shown.
func (s State) edited(b messagev1.Edited) (State, Change) {
	if b.Message == "" {
		return s, Change{}
	}
	if b.Message == s.TitleOf {
		s.Title = title(b.Text, nil)
	}
	if s.LastMessage != nil && s.LastMessage.ID == b.Message {
		m := *s.LastMessage
		m.Text, m.Edited, m.Cut = b.Text, true, 0
		m = m.Shortened(previewBytes)
		s.LastMessage = &m
	}
	return s, Change{Edited: b.Message, Text: b.Text}
}

// control opens a command. An answer to an approval is none: it becomes a decision before it comes here.
func (s State) control(ev envelope.Event, b messagev1.Control) (State, Change) {
	if b.Verb == messagev1.Approve || b.Verb == messagev1.Deny {
		return s, Change{}
	}
	s = s.met(b.From).open(ev, Due{Open: Open{Kind: OpenControl, ID: ev.ID}, Verb: string(b.Verb)})
	return s.said(Message{
		ID: ev.ID, Cursor: ev.Cursor, Time: wall(ev.Time), Role: User, From: Person{b.From.ID, b.From.Name}.String(),
		Text: strings.TrimSpace("/" + string(b.Verb) + " " + b.Argument),
	})
}

// submitted opens a decision.
func (s State) submitted(ev envelope.Event) State {
	if ev.Key != "" && s.find(func(d Due) bool { return d.Kind == OpenDecision && d.Key == ev.Key }) >= 0 {
		return s
	}
	return s.open(ev, Due{Open: Open{Kind: OpenDecision, ID: ev.ID}, Key: ev.Key})
}

// taken closes decisions.
func (s State) taken(ids []string) State {
	return s.close(func(d Due) bool { return d.Kind == OpenDecision && slices.Contains(ids, d.ID) })
}

// answered closes commands that have their answer.
func (s State) answered(ids ...string) State {
	return s.close(func(d Due) bool { return d.Kind == OpenControl && slices.Contains(ids, d.ID) })
}

// met remembers who has written.
func (s State) met(from messagev1.Sender) State {
	i := slices.IndexFunc(s.People, func(p Person) bool { return p.ID == from.ID })
	switch {
	case from.ID == "":
	case i < 0 && len(s.People) < maxPeople:
		s.People = append(slices.Clip(s.People), Person{ID: from.ID, Name: cut(from.Name, nameBytes)})
	case i >= 0 && from.Name != "" && s.People[i].Name != cut(from.Name, nameBytes):
		s.People = slices.Clone(s.People)
		s.People[i].Name = cut(from.Name, nameBytes)
	}
	return s
}

const nameBytes = 200

// said keeps the newest message.
func (s State) said(m Message) (State, Change) {
	short := m.Shortened(previewBytes)
	short.Files = nil
	s.LastMessage = &short
	return s, Change{Message: &m}
}
