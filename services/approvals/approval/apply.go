package approval

import (
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Version names the form of State and the meaning of Apply. It changes whenever one of them does.
const Version = "3"

// Service is who appends the events of this machine.
const Service = "approvals"

// Apply folds one committed event.
func (s State) Apply(ev envelope.Event) State {
	switch b := ev.Body.(type) {
	case callv1.Awaiting:
		return s.park(ev, b)
	case callv1.Asked:
		return s.asked(ev, b)
	case callv1.Denied:
		return s.closed(ev, b.Turn, b.Call)
	case callv1.Dispatched:
		return s.closed(ev, b.Turn, b.Call)
	case callv1.Started: // what an earlier attempt has asked, nobody waits for
		return s.withdrawn(ev.ID, b.Turn, b.Call)
	case callv1.Completed:
		return s.closed(ev, b.Turn, b.Call)
	case turnv1.Completed:
		return s.ended(ev, b.Turn)
	case turnv1.Failed:
		return s.ended(ev, b.Turn)
	case turnv1.Cancelled:
		return s.ended(ev, b.Turn)
	case turnv1.SessionDeleted:
		return State{}
	case messagev1.Decision:
		return s.submit(ev, b)
	case noticev1.Posted:
		if b.Service == Service {
			return s.answer(b.Answers)
		}
	case approvalv1.Event:
		return s.move(ev, b)
	}
	return s
}

// park opens an approval for a call. A call has one at a time: a second question about it would let one answer decide
// what another was asked.
func (s State) park(ev envelope.Event, b callv1.Awaiting) State {
	name := Name{ID: ev.ID, Key: ev.Key}
	same := func(a Approval) bool { return a.Form == nil && a.Parked.Turn == b.Turn && a.Parked.Call == b.Call }
	if s.knowsCall(name) || slices.ContainsFunc(s.Open, same) {
		return s
	}
	s.Open = append(slices.Clip(s.Open), Approval{
		ID: ID(ev.Session, ev.ID), Fact: name, Parked: b, At: wall(ev.Time), Last: ev.ID, Over: slices.Contains(s.Ended, b.Turn),
	})
	return s
}

// asked opens an approval for a question in the middle of a call, and withdraws the one before.
func (s State) asked(ev envelope.Event, b callv1.Asked) State {
	name := Name{ID: ev.ID, Key: ev.Key}
	if s.knowsCall(name) {
		return s
	}
	s = s.withdrawn(ev.ID, b.Turn, b.Call)
	s.Open = append(slices.Clip(s.Open), Approval{
		ID: ID(ev.Session, ev.ID), Fact: name, Parked: callv1.Awaiting{Request: b.Request, Why: b.Why, Shown: b.Shown},
		Form: &Form{Schema: b.Schema, Until: wall(b.Expires)}, At: wall(ev.Time), Last: ev.ID, Over: slices.Contains(s.Ended, b.Turn),
	})
	return s
}

// withdrawn: nobody waits for what a call has asked. Other than a parked call's, the end of that is told: it may be on a screen.
func (s State) withdrawn(by, turn, call string) State {
	for i, a := range s.Open {
		if a.Form != nil && a.Parked.Turn == turn && a.Parked.Call == call && !a.Over {
			s = s.with(i, func(a *Approval) { a.Over, a.Last = true, by })
		}
	}
	return s
}

// closed: what became of the call leaves nothing to decide.
func (s State) closed(ev envelope.Event, turn, call string) State {
	s = s.withdrawn(ev.ID, turn, call)
	i := slices.IndexFunc(s.Open, func(a Approval) bool { return a.Form == nil && a.Parked.Turn == turn && a.Parked.Call == call })
	if i < 0 {
		return s
	}
	return s.settle(i, Settled{Outcome: Cancelled, Event: ev.ID, At: wall(ev.Time)})
}

func (s State) ended(ev envelope.Event, turn string) State {
	if turn == "" {
		return s
	}
	if !slices.Contains(s.Ended, turn) {
		s.Ended = appended(s.Ended, endedKept, turn)
	}
	for i, a := range s.Open {
		if a.Parked.Turn == turn && !a.Over {
			s = s.with(i, func(a *Approval) { a.Over, a.Last = true, ev.ID })
		}
	}
	return s
}

func (s State) submit(ev envelope.Event, b messagev1.Decision) State {
	n := Submission{Name: Name{ID: ev.ID, Key: ev.Key}, At: wall(ev.Time), Quiet: b.Button, Answer: Answer{
		Approval: strings.ToLower(b.Approval), By: b.From.ID, Decision: b.Decision, Reason: b.Reason,
	}}
	if s.knowsSubmission(n.Name) {
		return s
	}
	if n.Approval == "" {
		n.Approval, n.Vague = s.meant(n.By, n.At)
	} else if a, ok := s.Find(n.Approval); ok && !a.Asked {
		n.Vague = nothingOpen // nobody has seen it: whatever this is, it is no answer to it
	}
	s.Inbox = append(slices.Clip(s.Inbox), n)
	return s
}

// crossing is how long after the end of an approval an answer without an id may have been meant for that one.
const crossing = 30 * time.Second

// meant is the approval that an answer without an id is about.
func (s State) meant(by string, at time.Time) (id string, why vagueness) {
	asked, own := 0, 0
	for _, a := range s.Open {
		if !a.Asked || a.Over {
			continue
		}
		asked++
		if slices.Contains(a.Approvers, by) {
			own++
			id = a.ID
		}
	}
	switch {
	case asked == 0:
		return "", nothingOpen
	case own == 0:
		return "", strange
	case own > 1:
		return "", several
	}
	for _, o := range s.Settled {
		if o.By != by && at.Sub(o.At) < crossing && slices.Contains(o.Approvers, by) {
			return "", crossed
		}
	}
	return id, ""
}

// move folds an event of this service. What is about no open approval is a duplicate, or came too late.
func (s State) move(ev envelope.Event, b approvalv1.Event) State {
	switch b := b.(type) {
	case approvalv1.Requested:
		i := s.open(b.Approval)
		if i < 0 || s.Open[i].Asked {
			return s
		}
		return s.with(i, func(a *Approval) {
			a.Asked, a.Last, a.Approvers, a.Expires = true, ev.ID, slices.Clone(b.Approvers), wall(b.Expires)
		})
	case approvalv1.Decided:
		return s.answer(b.Answers).end(ev, b.Ref, decided(b))
	case approvalv1.Expired:
		return s.end(ev, b.Ref, Settled{Outcome: Expired, Text: b.Text})
	case approvalv1.Cancelled:
		return s.end(ev, b.Ref, Settled{Outcome: Cancelled})
	case approvalv1.Voided:
		return s.end(ev, b.Ref, Settled{Outcome: Voided, Reason: b.Reason, Text: b.Text})
	}
	return s
}

func decided(b approvalv1.Decided) Settled {
	o := Settled{Outcome: Denied, Decision: b.Answer.Decision, By: b.Answer.By, Reason: b.Reason, Text: b.Text}
	if b.Answer.Decision.Allows() {
		o.Outcome = Allowed
	}
	if b.Edited != nil {
		o.Edited = canonical.Digest(canonicalOr(b.Edited.Arguments))
	}
	return o
}

func (s State) end(ev envelope.Event, ref approvalv1.Ref, o Settled) State {
	i := s.open(ref.Approval)
	if i < 0 {
		return s
	}
	o.Event, o.At = ev.ID, wall(ev.Time)
	return s.settle(i, o)
}
