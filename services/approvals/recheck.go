package approvals

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
)

// recorded are approval.Rules as data; the key is none.
type recorded struct {
	TTL       time.Duration `json:"ttl"`
	Approvers []string      `json:"approvers"`
}

// Recheck is the approval machine as it is asked about a journal. Given are the gate's verdict, the signature, and what a
// person has said.
func Recheck(rules recheck.Rules) (recheck.Machine, error) {
	return recheck.New(recheck.Spec[approval.State, rulesThen]{
		Service: Spec().Name,
		Kinds:   Spec().Appends,
		Apply:   approval.State.Apply,
		Next:    again,
		Rules: func(raw json.RawMessage) rulesThen {
			r := recorded{TTL: defaultTTL, Approvers: []string{local}}
			known := raw != nil && json.Unmarshal(raw, &r) == nil
			return rulesThen{approval.Rules{TTL: r.TTL, Approvers: r.Approvers, Sign: unsigned}, known}
		},
	}, rules)
}

// rulesThen are the rules that an event was decided by; of those that nobody has recorded, the event itself shows what it can.
type rulesThen struct {
	approval.Rules
	known bool
}

func unsigned(_ session.ID, _ callv1.Request, a callv1.Approval) callv1.Approval { return a }

// again is the machine's step where an event was appended.
func again(s approval.State, v machine.View, ev *envelope.Event, then rulesThen) machine.Step {
	r := then.Rules
	if ev == nil {
		return s.Next(v, r, nil)
	}
	switch b := ev.Body.(type) {
	case approvalv1.Decided:
		if !then.known {
			r.Approvers = append(slices.Clip(r.Approvers), b.Answer.By)
		}
		return decidedAgain(s, v, b, r)
	case approvalv1.Voided:
		return voidedAgain(s, *ev, b)
	case approvalv1.Requested:
		if a, open := s.Find(b.Approval); open && !then.known {
			r.TTL, r.Approvers = b.Expires.Sub(a.At), b.Approvers
		}
	}
	step := s.Next(v, r, nil)
	if a, ok := step.(machine.Append); ok && a.Body.EventType() == ev.Type() {
		return step
	}
	for _, n := range s.Inbox { // what only the gate's answer leads to
		if a, open := s.Find(n.Approval); open && n.ID == ev.Cause {
			return s.Next(v, r, &approval.Verdict{Submission: n.ID, Effect: approval.Run, Request: a.Request()})
		}
	}
	return step
}

// decidedAgain is what the machine makes of the answer that a decision records.
func decidedAgain(s approval.State, v machine.View, b approvalv1.Decided, r approval.Rules) machine.Step {
	a, open := s.Find(b.Approval)
	if !open {
		return nil
	}
	v.Now = b.Answer.At
	r.Sign = func(_ session.ID, _ callv1.Request, now callv1.Approval) callv1.Approval {
		now.Signature, now.GrantSignature = b.Answer.Signature, b.Answer.GrantSignature
		return now
	}
	heard := approval.Verdict{Effect: approval.Run, Request: a.Request()}
	if len(b.Answers) > 0 { // it came through a channel
		heard.Submission = b.Answers[0]
		return s.Next(v, r, &heard)
	}
	x := approval.Answer{Approval: b.Approval, By: b.Answer.By, Decision: b.Answer.Decision, Reason: b.Reason}
	if b.Edited != nil {
		x.Arguments, heard.Request, heard.Grant = b.Edited.Arguments, *b.Edited, b.Answer.Grant
	}
	body, ok := s.Decide(v.Session, x, v.Now, r, &heard).Body.(approvalv1.Decided)
	if !ok {
		return nil
	}
	if b.Edited != nil { // what was shown of other arguments is recorded in words only
		body.Answer.Shown, body.Text = b.Answer.Shown, b.Text
	}
	return machine.Append{Body: body, Cause: a.Last}
}

// voidedAgain is a void for the recorded reason: after a change of the policy, or in place of an answer.
func voidedAgain(s approval.State, ev envelope.Event, b approvalv1.Voided) machine.Step {
	a, open := s.Find(b.Approval)
	if !open {
		return nil
	}
	cause := a.Last
	if slices.ContainsFunc(s.Inbox, func(n approval.Submission) bool { return n.ID == ev.Cause && n.Approval == a.ID }) {
		cause = ev.Cause
	}
	return machine.Append{Body: a.Void(b.Reason), Cause: cause}
}
