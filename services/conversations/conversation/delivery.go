package conversation

import (
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// show adds what the outbox owes the person, and a notice that says the same. What is blank or known is neither.
func (s State) show(ev envelope.Event, text string, d Due) (State, Change) {
	if strings.TrimSpace(text) == "" {
		return s, Change{}
	}
	if ev.Key != "" && (slices.Contains(s.Shown, ev.Key) ||
		s.find(func(d Due) bool { return d.Kind == OpenDelivery && d.Key == ev.Key }) >= 0) {
		return s, Change{}
	}
	d.Kind, d.ID, d.Key = OpenDelivery, ev.ID, ev.Key
	return s.open(ev, d).say(ev, Notice, text, "", "")
}

// say adds a message that nothing is owed for.
func (s State) say(ev envelope.Event, role, text, turn, model string) (State, Change) {
	if strings.TrimSpace(text) == "" {
		return s, Change{}
	}
	return s.said(Message{ID: ev.ID, Cursor: ev.Cursor, Time: wall(ev.Time), Role: role, From: model, Text: text, Turn: turn})
}

// as makes the message of a change one of a turn.
func (s State) as(role, turn, model string, c Change) (State, Change) {
	if c.Message == nil {
		return s, c
	}
	m := *c.Message
	m.Role, m.Turn, m.From = role, turn, model
	return s.said(m)
}

// delivery folds an event of the outbox. An outcome that does not fit the open attempt is one of a worker that lost its claim.
func (s State) delivery(b deliveryv1.Event) State {
	switch b := b.(type) {
	case deliveryv1.Drafting:
		s.Drafts = last(s.Drafts, Draft{b.Turn, b.Round}, maxDrafts)
	case deliveryv1.Drafted:
		if i := slices.Index(s.Drafts, Draft{b.Turn, b.Round}); i >= 0 && b.Receipt == "" {
			s.Drafts = without(s.Drafts, i) // it was not posted after all
		}
	case deliveryv1.Started:
		if i := s.at(b.Ref); i >= 0 && s.Due[i].Phase != claimed && b.Attempt == s.Due[i].Attempt+1 {
			s = s.change(i, func(d *Due) { d.Phase, d.Attempt = claimed, b.Attempt })
		}
	case deliveryv1.Sent:
		return s.sent(b)
	case deliveryv1.Failed: // the open attempt, the last one that was, or none was possible
		if i := s.at(b.Ref); i >= 0 && (b.Attempt == s.Due[i].next() || b.Attempt == s.Due[i].Attempt && b.Attempt > 0) {
			return s.shown(i)
		}
	case deliveryv1.Deferred:
		if i := s.attempt(b.Ref); i >= 0 {
			s = s.change(i, func(d *Due) { d.Phase = waiting })
		}
	case deliveryv1.Unknown:
		i := s.attempt(b.Ref)
		switch {
		case i < 0:
		case b.Resend:
			s = s.change(i, func(d *Due) { d.Phase = waiting })
		default:
			return s.shown(i) // held: only a person moves it again
		}
	}
	return s
}

// at is the place of what a ref names, if that part of it is to be sent.
func (s State) at(r deliveryv1.Ref) int {
	return s.find(func(d Due) bool { return d.is(OpenDelivery, r.Delivery) && d.Part == r.Part })
}

// attempt is at, if the attempt is claimed.
func (s State) attempt(r deliveryv1.Ref) int {
	if i := s.at(r); i >= 0 && s.Due[i].Phase == claimed && s.Due[i].Attempt == r.Attempt {
		return i
	}
	return -1
}

// next is the attempt that an outcome has to name: the open one, else the one that would be next (a mailbox channel's sent,
// which needs no claim).
func (d Due) next() int {
	if d.Phase == claimed {
		return d.Attempt
	}
	return d.Attempt + 1
}

// sent ends a part, and with the last one the delivery.
func (s State) sent(b deliveryv1.Sent) State {
	i := s.at(b.Ref)
	if i < 0 || b.Attempt != s.Due[i].next() {
		return s
	}
	if b.More {
		return s.change(i, func(d *Due) { d.Phase, d.Attempt, d.Part = waiting, 0, d.Part+1 })
	}
	d := s.Due[i]
	if d.Approval == "" {
		return s.shown(i)
	}
	if n := slices.Index(s.Prompts, d.Approval); n >= 0 {
		s.Prompts = without(s.Prompts, n)
	}
	if d.Asks && b.Receipt != "" {
		s.Prompts = last(s.Prompts, d.Approval, maxPrompts)
	}
	return s.shown(i)
}

// shown closes a delivery and remembers its key.
func (s State) shown(i int) State {
	if key := s.Due[i].Key; key != "" {
		s.Shown = last(s.Shown, key, maxShown)
	}
	s.Due = without(s.Due, i)
	return s
}

// asks says that a channel shows a question, or is about to.
func (s State) asks(approval string) bool {
	return slices.Contains(s.Prompts, approval) || s.find(func(d Due) bool {
		return d.Kind == OpenDelivery && d.Approval == approval && (d.Attempt > 0 || d.Part > 0)
	}) >= 0
}
