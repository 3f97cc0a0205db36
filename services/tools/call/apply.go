package call

import (
	"cmp"
	"slices"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// What the model is told about a call that no person has allowed.
const (
	reasonDenied  = "the person said no. Do not try to get the same in another way; go on without it, or ask what is wanted instead"
	reasonExpired = "the person was asked and did not answer in time. Go on without it, and say so"
	reasonVoided  = "the question to the person is void, as what it was decided by has changed. You may ask again"
)

// Apply folds one committed event.
func (s State) Apply(ev envelope.Event) State {
	switch b := ev.Body.(type) {
	case messagev1.Received:
		return s.received(ev, b)
	case turnv1.Stepped:
		return s.stepped(ev, b)
	case turnv1.Completed:
		return s.over(b.Turn).answered(b.Answers)
	case turnv1.Failed:
		return s.over(b.Turn).answered(b.Answers)
	case turnv1.Cancelled:
		return s.over(b.Turn).answered(b.Answers)
	case callv1.Event:
		return s.call(ev, b)
	case approvalv1.Event:
		return s.approval(ev, b)
	case noticev1.Posted:
		// What a program outside has said to the person, the model is shown with its next call. What it asks the person it is not.
		s.Taint.Untrusted = s.Taint.Untrusted || b.By != "" && b.Permission == nil
	case turnv1.SessionReset:
		s.Taint, s.Always = Taint{Untrusted: len(s.Foreign) > 0}, nil
	case turnv1.SessionDeleted:
		return State{}
	case turnv1.Forked:
		return s.forked(ev, b)
	}
	return s
}

// received taints by what a person passes on: a message with files, one that somebody else has written first, or one that
// quotes another than the agent. It counts from when it comes, as any call from then on may be made of it.
func (s State) received(ev envelope.Event, b messagev1.Received) State {
	foreign := b.Forwarded != "" || len(b.Files) > 0 || b.Quote != nil && !b.Quote.Own
	if !foreign || slices.Contains(s.Foreign, ev.ID) {
		return s
	}
	s.Taint.Untrusted = true
	s.Foreign = slices.Concat(s.Foreign, []string{ev.ID})
	return s
}

// answered forgets messages that wait no longer.
func (s State) answered(messages []string) State {
	waits := func(id string) bool { return !slices.Contains(messages, id) }
	if !slices.ContainsFunc(s.Foreign, func(id string) bool { return !waits(id) }) {
		return s
	}
	var rest []string
	for _, id := range s.Foreign {
		if waits(id) {
			rest = append(rest, id)
		}
	}
	s.Foreign = rest
	return s
}

// stepped opens the calls that have left the turn.
func (s State) stepped(ev envelope.Event, b turnv1.Stepped) State {
	s.Turn, s.Calls = "", nil
	for i, c := range b.Calls {
		if c.Refusal != "" || c.Answer != "" {
			continue
		}
		s.Turn = b.Turn
		s.Calls = append(s.Calls, Call{ID: c.ID, Index: i, Tool: c.Tool, Arguments: string(c.Arguments), Phase: Asked, Cause: ev.ID})
	}
	return s
}

func (s State) over(turn string) State {
	if turn != "" && turn == s.Turn {
		s.Turn, s.Calls = "", nil
	}
	return s
}

func (s State) call(ev envelope.Event, b callv1.Event) State {
	switch b := b.(type) {
	case callv1.Dispatched:
		return s.move(b.Turn, b.Call, Dispatched, ev.ID, nil)
	case callv1.Awaiting:
		return s.move(b.Turn, b.Call, Awaiting, ev.ID, func(c *Call) {
			r := b.Request
			c.Request = &r
		})
	case callv1.Denied:
		if i := s.find(b.Turn, b.Call); i >= 0 {
			return s.without(i)
		}
	case callv1.Completed:
		// Whatever has become of the turn: what was read was read.
		s.Taint.Untrusted = s.Taint.Untrusted || b.Untrusted
		s.Taint.Private = s.Taint.Private || b.Private
		if i := s.find(b.Turn, b.Call); i >= 0 {
			return s.without(i)
		}
	case callv1.Started, callv1.Asked:
	}
	return s
}

// move brings a call into its next phase. Phases only go forward.
func (s State) move(turn, id string, to Phase, cause string, more func(*Call)) State {
	i := s.find(turn, id)
	if i < 0 || rank(s.Calls[i].Phase) >= rank(to) {
		return s
	}
	return s.with(i, func(c *Call) {
		c.Phase, c.Cause = to, cause
		if more != nil {
			more(c)
		}
	})
}

func rank(p Phase) int {
	return slices.Index([]Phase{Asked, Awaiting, Refused, Allowed, Dispatched}, p)
}

func (s State) approval(ev envelope.Event, b approvalv1.Event) State {
	switch b := b.(type) {
	case approvalv1.Decided:
		return s.decided(ev, b)
	case approvalv1.Expired:
		return s.refused(ev, b.Ref, reasonExpired)
	case approvalv1.Voided:
		return s.refused(ev, b.Ref, reasonVoided)
	case approvalv1.Requested, approvalv1.Cancelled:
	}
	return s
}

func (s State) refused(ev envelope.Event, ref approvalv1.Ref, reason string) State {
	if i := s.find(ref.Turn, ref.Call); i < 0 || s.Calls[i].Phase != Awaiting {
		return s
	}
	return s.move(ref.Turn, ref.Call, Refused, ev.ID, func(c *Call) { c.By, c.Reason = ref.Approval, reason })
}

func (s State) decided(ev envelope.Event, b approvalv1.Decided) State {
	if !b.Answer.Decision.Allows() {
		reason := reasonDenied
		if b.Reason != "" {
			reason = cmp.Or("the person said no: "+b.Reason, reason)
		}
		return s.refused(ev, b.Ref, reason)
	}
	if i := s.find(b.Turn, b.Call); i < 0 || s.Calls[i].Phase != Awaiting {
		return s
	}
	if b.Answer.Decision == callv1.AllowAlways && b.Answer.Grant != "" {
		s.Always = slices.Concat(s.Always[max(0, len(s.Always)+1-maxAlways):], []callv1.Approval{b.Answer})
	}
	return s.move(b.Turn, b.Call, Allowed, ev.ID, func(c *Call) {
		answer := b.Answer
		c.Approval = &answer
		if b.Edited != nil {
			r := *b.Edited
			c.Request = &r
		}
	})
}
