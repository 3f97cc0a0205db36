package outbox

import (
	"encoding/json"

	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

// Recheck is the delivery machine as it is asked about a journal. That there was room in the channel is given.
func Recheck(rules recheck.Rules) (recheck.Machine, error) {
	return recheck.New(recheck.Spec[delivery.State, delivery.Limits]{
		Service: Spec().Name,
		Kinds:   Spec().Appends,
		Apply:   delivery.State.Apply,
		Next: func(s delivery.State, v machine.View, _ *envelope.Event, l delivery.Limits) machine.Step {
			return s.Next(v, l)
		},
		Rules: func(recorded json.RawMessage) delivery.Limits {
			l := delivery.DefaultLimits()
			if recorded != nil && json.Unmarshal(recorded, &l) != nil {
				return delivery.DefaultLimits()
			}
			return l
		},
		Given: func(ev envelope.Event) bool {
			switch ev.Body.(type) {
			case deliveryv1.Drafting, deliveryv1.Drafted: // how a channel shows what a model says: when, nobody decides
				return true
			case noticev1.Posted: // what the endpoint was asked to send
				return true
			}
			return false
		},
		Claim: func(s delivery.State, _ string) uint64 {
			head, _ := s.Head()
			return head.Claim
		},
		Outcome: func(s delivery.State, _ string, ev envelope.Event) envelope.Body { return outcomeOf(s, ev.Body) },
		Timeless: func(body, then envelope.Body) envelope.Body {
			b, ok := body.(deliveryv1.Started)
			t, same := then.(deliveryv1.Started)
			if !ok || !same {
				return body
			}
			b.Deadline = t.Deadline
			return b
		},
	}, rules)
}

// outcomeOf is an outcome of the open attempt with the attempt written anew; nil when it is none.
func outcomeOf(s delivery.State, body envelope.Body) envelope.Body {
	head, ok := s.Head()
	if !ok {
		return nil
	}
	ref := deliveryv1.Ref{Delivery: head.ID, Attempt: head.Attempt, Part: head.Part}
	switch b := body.(type) {
	case deliveryv1.Sent:
		b.Ref = ref
		return b
	case deliveryv1.Deferred:
		b.Ref = ref
		return b
	case deliveryv1.Failed:
		b.Ref = ref
		return b
	case deliveryv1.Unknown:
		b.Ref = ref
		return b
	}
	return nil
}
