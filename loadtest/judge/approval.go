package judge

import (
	"maps"
	"slices"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// Decision is one answer to an approval as somebody gave it, whether it was heard or not.
type Decision struct {
	Approval string          `json:"approval"`
	Decision callv1.Decision `json:"decision"`
	Entitled bool            `json:"entitled"` // whoever gave it may decide
	Won      bool            `json:"won"`      // they were told that theirs is the one that counts
}

// approval is one question to a person in the journal.
type approval struct {
	event   envelope.Event
	turn    string
	call    string
	closed  string           // the kind of the event that ended it; "" while it waits
	answer  *callv1.Approval // nil when nobody has decided
	allowed int              // calls that were dispatched by it
	shown   *delivery
}

// asks folds the events of approvals.
func (h *history) asks(e envelope.Event, b approvalv1.Event) {
	switch b := b.(type) {
	case approvalv1.Requested:
		if h.approvals[b.Approval] != nil {
			h.say(Doubled, e, "approval %s is asked for again", b.Approval)
			return
		}
		h.court.counts.Approvals++
		h.approvals[b.Approval] = &approval{event: e, turn: b.Turn, call: b.Call, shown: h.show(e, b.Text)}
		h.find(e, b.Turn, b.Call)
	case approvalv1.Decided:
		if a := h.closes(e, b.Approval); a != nil {
			h.decided(e, b, a)
		}
		h.show(e, b.Text)
	case approvalv1.Expired:
		h.closes(e, b.Approval)
		h.show(e, b.Text)
	case approvalv1.Voided:
		h.closes(e, b.Approval)
		h.show(e, b.Text)
	case approvalv1.Cancelled:
		if h.approvals[b.Approval] == nil { // the turn was ended before anybody could be asked
			h.approvals[b.Approval] = &approval{event: e, turn: b.Turn, call: b.Call, closed: e.Kind()}
			h.show(e, "").perhaps = true
			return
		}
		if a := h.closes(e, b.Approval); a != nil {
			h.show(e, "").perhaps = true // only a question that stands somewhere is taken back there
		}
	}
}

// closes ends an approval; nil is said.
func (h *history) closes(e envelope.Event, id string) *approval {
	a := h.approvals[id]
	switch {
	case a == nil:
		h.say(Wrong, e, "%s of approval %s, which nobody has asked for", e.Kind(), id)
		return nil
	case a.closed != "":
		h.say(Doubled, e, "%s of approval %s, which has ended by %s", e.Kind(), id, a.closed)
		return nil
	}
	a.closed = e.Kind()
	h.court.counts.Answers[e.Kind()]++
	return a
}

// decided checks that somebody who may has given this answer.
func (h *history) decided(e envelope.Event, b approvalv1.Decided, a *approval) {
	a.answer = &b.Answer
	if b.Answer.ID != b.Approval {
		h.say(Wrong, e, "the answer to approval %s names approval %s", b.Approval, b.Answer.ID)
	}
	if h.court.ev.Decisions == nil {
		return
	}
	given := func(d Decision) bool {
		return d.Approval == b.Approval && d.Decision == b.Answer.Decision && d.Entitled
	}
	if !slices.ContainsFunc(h.court.ev.Decisions, given) {
		h.say(Wrong, e, "approval %s is decided (%s by %s), and nobody who may has given that answer", b.Approval, b.Answer.Decision, b.Answer.By)
	}
}

// permitted checks that a call which had to wait for a person runs by that person's word, once.
func (h *history) permitted(e envelope.Event, b callv1.Dispatched, c *call) {
	if b.Approval == nil {
		if c.waits && b.Always == nil {
			h.say(Wrong, e, "call %s of turn %s had to wait for a decision and runs without one", b.Call, b.Turn)
		}
		return
	}
	a := h.approvals[b.Approval.ID]
	switch {
	case a == nil:
		h.say(Wrong, e, "call %s of turn %s runs by approval %s, which nobody has asked for", b.Call, b.Turn, b.Approval.ID)
	case a.turn != b.Turn || a.call != b.Call:
		h.say(Wrong, e, "call %s of turn %s runs by approval %s, which is about call %s of turn %s", b.Call, b.Turn, b.Approval.ID, a.call, a.turn)
	case a.answer == nil || !a.answer.Decision.Allows():
		h.say(Wrong, e, "call %s of turn %s runs by approval %s, which nobody has given", b.Call, b.Turn, b.Approval.ID)
	default:
		if a.allowed++; a.allowed > 1 {
			h.say(Doubled, e, "approval %s has let %d calls run", b.Approval.ID, a.allowed)
		}
	}
}

// waiting are the questions that nobody will ever answer any more: their turn has ended.
func (h *history) waiting() {
	for id, a := range h.approvals {
		if a.closed == "" && h.ended[a.turn] {
			h.say(Stuck, a.event, "approval %s waits, and its turn has ended", id)
		}
	}
}

// deciders compares what those who decided were told with the journal.
func (c *court) deciders() {
	all := map[string]*approval{}
	for _, h := range c.sessions {
		maps.Copy(all, h.approvals)
	}
	won := map[string]Decision{}
	for _, d := range c.ev.Decisions {
		if !d.Won {
			continue
		}
		if o, again := won[d.Approval]; again && o.Decision != d.Decision {
			c.say(Doubled, "", 0, "two who decided approval %s were told that theirs counts: %s and %s", d.Approval, o.Decision, d.Decision)
		}
		won[d.Approval] = d
		switch a := all[d.Approval]; {
		case !d.Entitled:
			c.say(Wrong, "", 0, "who may not decide approval %s was told that theirs counts", d.Approval)
		case a == nil || a.answer == nil:
			c.say(Lost, "", 0, "who decided approval %s (%s) was told that it counts, and it is not in the journal", d.Approval, d.Decision)
		case a.answer.Decision != d.Decision:
			c.say(Wrong, a.event.Session, a.event.Cursor, "who decided approval %s was told that %s counts, the journal has %s",
				d.Approval, d.Decision, a.answer.Decision)
		}
	}
}
