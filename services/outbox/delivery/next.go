package delivery

import (
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
)

// Next says what the session's head needs now; nil when there is nothing to show.
func (s State) Next(v machine.View, l Limits) machine.Step {
	head, ok := s.Head()
	if !ok {
		return nil
	}
	switch l.Routes[s.Channel] {
	case Mailbox:
		return head.append(deliveryv1.Sent{Ref: head.ref(head.due())})
	case Push:
		return head.push(v, l)
	case Away:
		return machine.Wait{Until: v.Now.Add(awayTime)}
	default:
		return head.append(deliveryv1.Failed{
			Ref:    head.ref(head.due()),
			Reason: fmt.Sprintf("nothing is configured that delivers to channel %q", s.Channel),
		})
	}
}

// awayTime is how often a process that cannot call a channel looks whether another has.
const awayTime = 30 * time.Second

func (i Item) push(v machine.View, l Limits) machine.Step {
	switch i.Phase {
	case Started:
		return i.claimed(v, l)
	case Deferred:
		return i.again(v, l, i.Due)
	case Unknown:
		// Not at once: a receiver that breaks each connection would use up all attempts within milliseconds.
		return i.again(v, l, i.Since.Add(l.Backoff(i.ID, i.Attempt)))
	case Pending:
		if until, wait := i.draftOpen(v); wait {
			return machine.Wait{Until: until}
		}
	}
	return i.start(v, l)
}

// letGo is how long after a model call has ended its draft may still be edited by another worker, which looks into the journal
// before each edit and cuts it off in less.
const letGo = 3 * time.Second

// draftOpen says until when an item has to wait for its draft: it is being posted, or another worker may still be at it.
func (i Item) draftOpen(v machine.View) (until time.Time, wait bool) {
	d := i.Draft
	if d == nil || i.Part > 0 {
		return time.Time{}, false
	}
	if d.Receipt == "" && !machine.Due(v.Now, i.At, d.Deadline) {
		return d.Deadline, true
	}
	until = i.At.Add(letGo)
	return until, d.Receipt != "" && d.Worker != v.Worker && !machine.Due(v.Now, i.At, until)
}

// perhapsDrafted: nobody has said what became of its draft, and its beginning may be there already.
func (i Item) perhapsDrafted() bool { return i.Draft != nil && i.Draft.Receipt == "" && i.Part == 0 }

func (i Item) start(v machine.View, l Limits) machine.Step {
	return machine.Append{Cause: i.Last, Claim: true, Body: deliveryv1.Started{
		Ref:      i.ref(i.Attempt + 1),
		Worker:   v.Worker,
		Deadline: wall(v.Now.Add(l.SendTime + l.Grace)),
		Repeat:   i.Repeat || i.perhapsDrafted(),
	}}
}

// claimed is an open attempt. A claim that is not Mine may have had its effect, whoever made it: even one of this very
// worker, from an earlier run.
func (i Item) claimed(v machine.View, l Limits) machine.Step {
	switch {
	case v.Mine == i.Claim:
		// Also past the deadline: an outcome that is known is worth more than "unknown", and if somebody has taken
		// over, the append of the outcome loses.
		return machine.Perform{Claim: i.Claim, Deadline: i.Deadline}
	case v.Gone == i.Claim: // not when its deadline has passed, which is of the owner's clock
		return machine.Append{
			Body:  deliveryv1.Unknown{Ref: i.ref(i.Attempt), Resend: l.ResendUnknown},
			Cause: i.Last, Tell: i.Worker,
		}
	default:
		return machine.Held{
			Claim: i.Claim, Worker: i.Worker, Since: i.Since, Deadline: i.Deadline, Attempt: i.Attempt,
		}
	}
}

// again is an attempt after one that did not succeed, due at a time.
func (i Item) again(v machine.View, l Limits, due time.Time) machine.Step {
	end := i.Begun.Add(l.MaxAge)
	switch {
	case i.Attempt-i.Untried >= l.Attempts:
		return i.giveUp(fmt.Sprintf("given up at attempt %d", i.Attempt))
	case !v.Now.Before(end):
		return i.giveUp(fmt.Sprintf("given up %s after the first attempt", l.MaxAge))
	case !machine.Due(v.Now, i.Since, due):
		if end.Before(due) {
			due = end
		}
		return machine.Wait{Until: due}
	default:
		return i.start(v, l)
	}
}

func (i Item) giveUp(reason string) machine.Step {
	if i.Reason != "" {
		reason += "; the last one: " + i.Reason
	}
	if i.Repeat {
		reason += "; an earlier one may have arrived"
	}
	return i.append(deliveryv1.Failed{Ref: i.ref(i.Attempt), Reason: reason})
}

func (i Item) append(b envelope.Body) machine.Step { return machine.Append{Body: b, Cause: i.Last} }

func (i Item) ref(attempt int) deliveryv1.Ref {
	return deliveryv1.Ref{Delivery: i.ID, Attempt: attempt, Part: i.Part}
}
