package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

// Sender calls one push channel, once, for one part of an item, without retries of its own. A channel that can show what goes
// on in a turn that runs is a Presence, too. It returns the channel's receipt, or an error whose
// class says whether the item arrived (channel.Error; any other error counts as unknown). It heeds ctx. It is called for
// many sessions at the same time.
type Sender interface {
	Send(ctx context.Context, i channel.Item) (channel.Receipt, error)
}

// Pacer is a Sender that knows the limits of its channel, so that nothing is claimed before there is room for it: a claim whose
// worker dies while it only waits would count as a message that may have arrived.
type Pacer interface {
	// Room says when there is room for a message in a session; the zero time when that is now. It keeps the session's place. It is
	// asked for a decision, and takes no longer than one may.
	Room(s session.ID) time.Time
}

// next is the machine's step, once there is room for it.
func (s *Service) next(st delivery.State, v machine.View) machine.Step {
	step := st.Next(v, s.limits)
	claim, ok := step.(machine.Append)
	pacer, paced := s.senders[v.Session.Channel()].(Pacer)
	if !ok || !claim.Claim || !paced {
		return step
	}
	if at := pacer.Room(v.Session); at.After(v.Now) {
		return machine.Wait{Until: at}
	}
	return step
}

// perform makes the attempt that a delivery.started announced, and returns what became of it.
func (s *Service) perform(ctx context.Context, w actor.Work[delivery.State]) (envelope.Body, error) {
	claim, ok := w.Claim.Body.(deliveryv1.Started)
	item, queued := w.State.Head()
	sender := s.senders[w.Session.Channel()]
	if !ok || !queued || item.ID != claim.Delivery || sender == nil {
		return nil, fmt.Errorf("%s at %d of %s announces no delivery of this outbox", w.Claim.Type(), w.Claim.Cursor, w.Session)
	}
	// The call ends Grace before the claim does: what is left is for the append of its outcome.
	call, cancel := context.WithDeadline(ctx, w.Deadline.Add(-s.limits.Grace))
	defer cancel()
	out, err := s.itemOf(call, w, item, claim)
	if err != nil { // the channel was not called
		return s.outcome(claim.Ref, channel.Errorf(channel.Retry, "%s", err.Error()), s.conn.Now()), nil
	}
	receipt, err := sender.Send(call, out)
	if err == nil {
		return deliveryv1.Sent{Ref: claim.Ref, Receipt: receipt.ID, More: receipt.More}, nil
	}
	if cause := context.Cause(ctx); errors.Is(cause, actor.ErrFenced) || errors.Is(cause, actor.ErrWithdrawn) {
		return nil, cause // whatever the sender says, it was cut off, and somebody else decides
	}
	return s.outcome(claim.Ref, channel.ErrorOf(err), s.conn.Now()), nil
}

// itemOf is what the channel is given. An error means that it was not called.
func (s *Service) itemOf(ctx context.Context, w actor.Work[delivery.State], i delivery.Item, claim deliveryv1.Started) (channel.Item, error) {
	out := channel.Item{
		Session: w.Session, Delivery: claim.Delivery, Attempt: claim.Attempt, Repeat: claim.Repeat, Part: claim.Part,
		Kind: i.Kind, Text: i.Text, Answers: i.Answers, Approval: i.Approval, Always: i.Always, Ways: i.Ways, Reply: i.Reply,
	}
	if i.Draft != nil && claim.Part == 0 {
		out.Draft = i.Draft.Receipt
		if d := s.drafts[w.Session.Channel()]; d != nil {
			if err := d.finish(ctx, w.Session, i.Draft.Turn); err != nil {
				return out, err
			}
		}
	}
	if p, ok := w.State.Prompt(i.Approval); ok && p.Cursor != i.Cursor {
		out.Prompt = &channel.Prompt{Receipt: p.Receipt}
		switch e, err := s.conn.Journal().Get(ctx, p.Cursor); {
		case errors.Is(err, bus.ErrNoEvent): // the session was deleted meanwhile
			out.Prompt = nil
		case err != nil:
			return out, err
		default:
			if b, ok := e.Body.(approvalv1.Requested); ok {
				out.Prompt.Text, out.Prompt.Ways = b.Text, b.Ways
			}
		}
	}
	return out, nil
}

// outcome is the event of an attempt without a receipt.
func (s *Service) outcome(ref deliveryv1.Ref, e *channel.Error, now time.Time) envelope.Body {
	reason := clip(e.Reason)
	switch e.Class {
	case channel.Permanent:
		return deliveryv1.Failed{Ref: ref, Reason: reason}
	case channel.Retry:
		wait := e.After
		if !e.Untried {
			wait = max(wait, s.limits.Backoff(ref.Delivery, ref.Attempt))
		}
		return deliveryv1.Deferred{Ref: ref, Until: now.Add(wait).UTC().Round(0), Reason: reason, Untried: e.Untried}
	case channel.Unknown:
	}
	s.log.Warn("it is not known whether a delivery arrived",
		"delivery", ref.Delivery, "attempt", ref.Attempt, "reason", reason, "resend", s.limits.ResendUnknown)
	return deliveryv1.Unknown{Ref: ref, Resend: s.limits.ResendUnknown}
}

const maxReason = 300

// clip keeps a sender's words from filling the journal.
func clip(reason string) string {
	if len(reason) > maxReason {
		reason = reason[:maxReason] + "…"
	}
	return strings.ToValidUTF8(reason, "")
}
