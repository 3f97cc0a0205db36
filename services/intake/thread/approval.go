package thread

import (
	"slices"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Approval is a question to a person that the running turn waits for.
type Approval struct {
	ID     string `json:"id"`
	Call   string `json:"call"`   // that waits for it
	Cursor uint64 `json:"cursor"` // of its approval.requested, which has the text
}

// running is the turn at work, as its last claim describes it. Slices are never written to once they are in a state.
type running struct {
	turn     string     // id; "" when none runs
	messages []string   // ids of those that it answers
	open     []Approval // that it waits for, in journal order
}

// Approvals are the open ones that the answer to a message waits for; nil when there are none, or no such message.
func (s State) Approvals(message string) []Approval {
	if len(s.running.open) == 0 || !slices.Contains(s.running.messages, message) {
		return nil
	}
	return slices.Clone(s.running.open)
}

// Asks says that a person's decision is waited for.
func (s State) Asks() bool { return len(s.running.open) > 0 }

// apply folds what concerns the turn at work.
func (r running) apply(e envelope.Event) running {
	switch b := e.Body.(type) {
	case turnv1.Started:
		return claimed(b.Claim)
	case turnv1.Continued:
		return claimed(b.Claim)
	case turnv1.Resumed:
		return claimed(b.Claim)
	case turnv1.Completed, turnv1.Failed, turnv1.SessionDeleted:
		return running{}
	case turnv1.Cancelled:
		if b.Turn != "" { // else only what waited is cancelled, and the turn goes on
			return running{}
		}
	case approvalv1.Requested:
		return r.asked(Approval{ID: b.Approval, Call: b.Call, Cursor: e.Cursor}, b.Turn)
	case approvalv1.Decided:
		return r.settled(b.Turn, func(a Approval) bool { return a.ID == b.Approval })
	case approvalv1.Expired:
		return r.settled(b.Turn, func(a Approval) bool { return a.ID == b.Approval })
	case approvalv1.Cancelled:
		return r.settled(b.Turn, func(a Approval) bool { return a.ID == b.Approval })
	case approvalv1.Voided:
		return r.settled(b.Turn, func(a Approval) bool { return a.ID == b.Approval })
	case callv1.Dispatched: // whatever became of the question: nobody waits for it any more
		return r.settled(b.Turn, func(a Approval) bool { return a.Call == b.Call })
	case callv1.Denied:
		return r.settled(b.Turn, func(a Approval) bool { return a.Call == b.Call })
	}
	return r
}

// claimed is a turn whose model is asked: all calls before it have results, so that nothing is open.
func claimed(c turnv1.Claim) running {
	r := running{turn: c.Turn}
	if len(c.Messages) > 0 { // one form of nothing, as a snapshot keeps it
		r.messages = slices.Clone(c.Messages)
	}
	return r
}

func (r running) asked(a Approval, turn string) running {
	if turn == "" || turn != r.turn || slices.ContainsFunc(r.open, func(o Approval) bool { return o.ID == a.ID }) {
		return r
	}
	r.open = append(slices.Clip(r.open), a) // clipped: the append copies, so that no other State sees it
	return r
}

func (r running) settled(turn string, which func(Approval) bool) running {
	if turn != r.turn || !slices.ContainsFunc(r.open, which) {
		return r
	}
	if r.open = slices.DeleteFunc(slices.Clone(r.open), which); len(r.open) == 0 {
		r.open = nil
	}
	return r
}
