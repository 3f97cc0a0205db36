package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

// Sender calls one push channel, once, without retries of its own. It returns the channel's receipt, or an error whose
// class says whether the item arrived (channel.Error; any other error counts as unknown). It heeds ctx. It is called for
// many sessions at the same time.
type Sender interface {
	Send(ctx context.Context, i channel.Item) (receipt string, err error)
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
	receipt, err := sender.Send(call, channel.Item{
		Session: w.Session, Delivery: claim.Delivery, Attempt: claim.Attempt, Repeat: claim.Repeat,
		Kind: item.Kind, Text: item.Text, Answers: item.Answers, Approval: item.Approval,
	})
	if err == nil {
		return deliveryv1.Sent{Ref: claim.Ref, Receipt: receipt}, nil
	}
	if cause := context.Cause(ctx); errors.Is(cause, actor.ErrFenced) || errors.Is(cause, actor.ErrWithdrawn) {
		return nil, cause // whatever the sender says, it was cut off, and somebody else decides
	}
	return s.outcome(claim.Ref, channel.ErrorOf(err), time.Now()), nil
}

// outcome is the event of an attempt without a receipt.
func (s *Service) outcome(ref deliveryv1.Ref, e *channel.Error, now time.Time) envelope.Body {
	reason := clip(e.Reason)
	switch e.Class {
	case channel.Permanent:
		return deliveryv1.Failed{Ref: ref, Reason: reason}
	case channel.Retry:
		wait := max(e.After, s.limits.Backoff(ref.Delivery, ref.Attempt))
		return deliveryv1.Deferred{Ref: ref, Until: now.Add(wait).UTC().Round(0), Reason: reason}
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
