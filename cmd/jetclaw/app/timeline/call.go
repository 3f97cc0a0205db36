package timeline

import (
	"cmp"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// call is the group of a tool call: under the round that asked for it, where that is known.
func (b *builder) call(turn, id string, parent *Entry, ev envelope.Event) *Entry {
	key := callKey{turn, id}
	e, ok := b.calls[key]
	if ok {
		return e
	}
	if parent == nil {
		parent = b.turns[turn]
	}
	e = b.group(parent, CallKind, id, ev, &Call{Turn: turn, Call: id})
	b.calls[key] = e
	if t := b.turns[turn]; t != nil {
		t.Facts.(*Turn).Calls++
	}
	return e
}

func (b *builder) callEvent(ev envelope.Event, body callv1.Event) *Entry {
	switch c := body.(type) {
	case callv1.Dispatched:
		e := b.requested(ev, c.Request, c.Rule)
		f := e.Facts.(*Call)
		if e.Open {
			f.handed, f.handedAt = ev.Time, ev.Cursor
		}
		return b.leaf(e, ev, fmt.Sprintf("handed to %s (%s)", c.Executor, c.Rule))
	case callv1.Awaiting:
		text := "needs a person's decision (" + c.Rule + ")"
		if len(c.Why) > 0 {
			text += ": " + c.Why[0]
		}
		return b.leaf(b.requested(ev, c.Request, c.Rule), ev, text)
	case callv1.Denied:
		e := b.call(c.Turn, c.Call, nil, ev)
		f := e.Facts.(*Call)
		f.Rule = cmp.Or(short(c.Rule), f.Rule)
		f.end(e, ev.Time, "denied", c.Reason)
		return b.leaf(e, ev, "denied: "+c.Reason)
	case callv1.Started:
		return b.started(ev, c)
	case callv1.Asked:
		return b.leaf(b.call(c.Turn, c.Call, nil, ev), ev, "asks a person: "+c.Message)
	case callv1.Completed:
		e := b.call(c.Turn, c.Call, nil, ev)
		f := e.Facts.(*Call)
		f.Executor = c.Executor
		f.end(e, ev.Time, string(c.Outcome), "")
		return b.leaf(e, ev, cause(string(c.Outcome), c.Content))
	}
	return b.leaf(nil, ev, "")
}

// requested is a call about which something was decided.
func (b *builder) requested(ev envelope.Event, r callv1.Request, rule string) *Entry {
	e := b.call(r.Turn, r.Call, nil, ev)
	f := e.Facts.(*Call)
	f.Tool, f.Executor, f.Level, f.Rule, f.Arguments = short(r.Tool), r.Executor, r.Level.String(), short(rule), arguments(r.Arguments)
	return e
}

func (b *builder) started(ev envelope.Event, c callv1.Started) *Entry {
	e := b.call(c.Turn, c.Call, nil, ev)
	f := e.Facts.(*Call)
	f.stop(ev.Time)
	f.Executor, f.Worker, f.Deadline = c.Executor, c.Worker, c.Deadline
	f.Attempts++
	if e.Open {
		f.started, f.startedAt = ev.Time, ev.Cursor
	}
	return b.leaf(e, ev, fmt.Sprintf("attempt %d begins, worker %s", c.Attempt, c.Worker))
}

// stop counts what goes on: the wait for the executor, or the attempt that runs.
func (c *Call) stop(at time.Time) {
	if !c.handed.IsZero() {
		c.Queued += between(c.handed, at)
	}
	if !c.started.IsZero() {
		c.Ran += between(c.started, until(at, c.Deadline))
	}
	c.handed, c.started = time.Time{}, time.Time{}
}

// end gives a call its outcome, unless it has one: the first counts.
func (c *Call) end(e *Entry, at time.Time, how, reason string) {
	if e.Open {
		c.Outcome, c.Reason = how, short(reason)
		c.stop(at)
		e.close(at)
	}
}

func (b *builder) approvalEvent(ev envelope.Event, body approvalv1.Event) *Entry {
	switch a := body.(type) {
	case approvalv1.Requested:
		e := b.approval(ev, approvalv1.Ref{Approval: a.Approval, Turn: a.Turn, Call: a.Call})
		f := e.Facts.(*Approval)
		f.Tool, f.Approvers, f.Expires = short(a.Tool), a.Approvers, a.Expires
		if e.Open {
			f.asked = ev.Time
		}
		text := "asks a person about " + a.Tool
		if len(a.Why) > 0 {
			text += ": " + a.Why[0]
		}
		return b.leaf(e, ev, text)
	case approvalv1.Decided:
		e := b.approval(ev, a.Ref)
		f := e.Facts.(*Approval)
		if e.Open {
			f.By, f.Reason, f.Edited = a.Answer.By, short(a.Reason), a.Edited != nil
		}
		f.end(e, ev.Time, string(a.Answer.Decision))
		text := fmt.Sprintf("%s by %s", a.Answer.Decision, a.Answer.By)
		if a.Edited != nil {
			text += ", with other arguments"
		}
		return b.leaf(e, ev, cause(text, a.Reason))
	case approvalv1.Expired:
		return b.settled(ev, a.Ref, "expired", "nobody has answered in time")
	case approvalv1.Cancelled:
		return b.settled(ev, a.Ref, "cancelled", "there is nothing to decide any more: its turn has ended")
	case approvalv1.Voided:
		return b.settled(ev, a.Ref, "voided", "void: "+a.Reason)
	}
	return b.leaf(nil, ev, "")
}

// approval is the group of a question: under the call that waits for it, where that is known.
func (b *builder) approval(ev envelope.Event, r approvalv1.Ref) *Entry {
	e, ok := b.approvals[r.Approval]
	if !ok {
		e = b.group(b.calls[callKey{r.Turn, r.Call}], ApprovalKind, r.Approval, ev, &Approval{Approval: r.Approval})
		b.approvals[r.Approval] = e
	}
	return e
}

func (b *builder) settled(ev envelope.Event, r approvalv1.Ref, how, text string) *Entry {
	e := b.approval(ev, r)
	e.Facts.(*Approval).end(e, ev.Time, how)
	return b.leaf(e, ev, text)
}

// stop counts the wait for the person.
func (a *Approval) stop(at time.Time) {
	if !a.asked.IsZero() {
		a.Waited += between(a.asked, until(at, a.Expires))
		a.asked = time.Time{}
	}
}

func (a *Approval) end(e *Entry, at time.Time, how string) {
	if e.Open {
		a.Outcome = how
		a.stop(at)
		e.close(at)
	}
}
