package conversation

import (
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// call folds what becomes of a call: at the gate, at its executor, and of the question that it may be parked for.
func (s State) call(ev envelope.Event, b callv1.Event) State {
	switch b := b.(type) {
	case callv1.Awaiting:
		return s.parked(ev, b)
	case callv1.Dispatched:
		s = s.unparked(b.Turn, b.Call)
		return s.move(ev, b.Turn, b.Call, func(d *Due) {
			if d.Phase == waiting {
				d.Phase, d.Attempt = dispatched, 0
			}
		})
	case callv1.Started:
		return s.move(ev, b.Turn, b.Call, func(d *Due) {
			if b.Attempt == d.Attempt+1 {
				d.Phase, d.Attempt = claimed, b.Attempt
			}
		})
	case callv1.Asked: // its approval opens with the question that is shown
	case callv1.Denied:
		s = s.unparked(b.Turn, b.Call)
		return s.close(func(d Due) bool { return d.of(OpenCall, b.Turn, b.Call) && d.Phase == waiting })
	case callv1.Completed:
		s = s.unparked(b.Turn, b.Call)
		return s.close(func(d Due) bool { return d.of(OpenCall, b.Turn, b.Call) && d.Attempt == b.Attempt })
	}
	return s
}

// move changes a call. One that nobody has announced is open from here on.
func (s State) move(ev envelope.Event, turn, call string, to func(*Due)) State {
	meant := func(d Due) bool { return d.of(OpenCall, turn, call) }
	if s.find(meant) < 0 {
		s = s.open(ev, Due{Open: Open{Kind: OpenCall, ID: call}, Turn: turn})
	}
	if i := s.find(meant); i >= 0 { // there was room for it
		s = s.change(i, to)
	}
	return s
}

// parked opens the approval of a call, which has one at a time.
func (s State) parked(ev envelope.Event, b callv1.Awaiting) State {
	if s.find(func(d Due) bool { return d.of(OpenApproval, b.Turn, b.Call) }) >= 0 {
		return s
	}
	return s.open(ev, Due{Open: Open{Kind: OpenApproval, ID: b.Call}, Turn: b.Turn, Call: b.Call})
}

// unparked closes the approval of a call: what became of the call leaves nothing to decide.
func (s State) unparked(turn, call string) State {
	return s.close(func(d Due) bool { return d.of(OpenApproval, turn, call) })
}

// approval folds an event of the approvals service. The end of a turn does not close its approvals: their own event does.
func (s State) approval(ev envelope.Event, b approvalv1.Event) (State, Change) {
	switch b := b.(type) {
	case approvalv1.Requested:
		return s.asked(ev, b).show(ev, b.Text, Due{Approval: b.Approval, Asks: true})
	case approvalv1.Decided:
		return s.taken(b.Answers).settled(b.Ref).show(ev, b.Text, Due{Approval: b.Approval})
	case approvalv1.Expired:
		return s.settled(b.Ref).show(ev, b.Text, Due{Approval: b.Approval})
	case approvalv1.Voided:
		return s.settled(b.Ref).show(ev, b.Text, Due{Approval: b.Approval})
	case approvalv1.Cancelled:
		s = s.settled(b.Ref)
		if s.asks(b.Approval) { // a question that a channel shows has to be settled there
			return s.show(ev, withdrawnText, Due{Approval: b.Approval})
		}
	}
	return s, Change{}
}

// withdrawnText is what a question says whose turn was ended.
const withdrawnText = "There is nothing to decide any more: what this was for has ended."

// asked gives a parked call the id of its approval.
func (s State) asked(ev envelope.Event, b approvalv1.Requested) State {
	i := s.find(func(d Due) bool { return d.of(OpenApproval, b.Turn, b.Call) })
	if i < 0 {
		return s.open(ev, Due{Open: Open{Kind: OpenApproval, ID: b.Approval}, Turn: b.Turn, Call: b.Call, Approval: b.Approval})
	}
	if s.Due[i].Approval != "" {
		return s
	}
	return s.change(i, func(d *Due) { d.ID, d.Approval = b.Approval, b.Approval })
}

// settled closes an approval: by its id, or by its call while the id is not known.
func (s State) settled(r approvalv1.Ref) State {
	return s.close(func(d Due) bool {
		if d.Approval != "" {
			return d.Kind == OpenApproval && d.Approval == r.Approval
		}
		return d.of(OpenApproval, r.Turn, r.Call)
	})
}
