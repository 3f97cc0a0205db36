package approval

import (
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
)

// again is how long a submission waits that the gate could not judge.
const again = 2 * time.Second

// Next says what the session needs now: it ends what is over, asks what is parked, answers what was submitted, and waits
// for the next expiry; nil when no approval is open. heard is the gate's answer to one of Questions, nil without.
func (s State) Next(v machine.View, r Rules, heard *Verdict) machine.Step {
	if step := s.urgent(v, r); step != nil {
		return step
	}
	until := time.Time{}
	var waiting []string // approvals of which an earlier answer is not judged yet
	for _, n := range s.Inbox {
		if slices.Contains(waiting, n.Approval) && n.Approval != "" {
			continue
		}
		var verdict *Verdict
		if heard != nil && heard.Submission == n.ID {
			verdict = heard
		}
		ruling := s.submitted(n, v, r, verdict)
		if ruling.Kind == Unheard {
			waiting = append(waiting, n.Approval)
			until = v.Now.Add(again)
			continue
		}
		return ruling.step(n)
	}
	for _, a := range s.Open {
		if until.IsZero() || a.Expires.Before(until) {
			until = a.Expires
		}
	}
	if until.IsZero() {
		return nil
	}
	return machine.Wait{Until: until}
}

// Questions are what the gate has to be asked before Next can answer what was submitted, in order; mostly none.
func (s State) Questions(v machine.View, r Rules) []Question {
	if len(s.Inbox) == 0 || s.urgent(v, r) != nil {
		return nil
	}
	var all []Question
	var seen []string
	for _, n := range s.Inbox {
		if slices.Contains(seen, n.Approval) && n.Approval != "" {
			continue
		}
		ruling := s.submitted(n, v, r, nil)
		if ruling.Kind != Unheard {
			return nil // it is answered first
		}
		seen = append(seen, n.Approval)
		ruling.Question.Submission = n.ID
		all = append(all, ruling.Question)
	}
	return all
}

// urgent is what comes before any answer, as it may change what that is told.
func (s State) urgent(v machine.View, r Rules) machine.Step {
	for _, a := range s.Open {
		if a.Over {
			return a.append(approvalv1.Cancelled{Ref: a.ref()})
		}
	}
	for _, a := range s.Open {
		if !v.Now.Before(a.expiry(r)) {
			return a.append(approvalv1.Expired{Ref: a.ref(), Text: a.expiredText()})
		}
	}
	for _, a := range s.Open {
		if !a.Asked {
			return a.append(a.requested(r))
		}
	}
	return nil
}

func (s State) submitted(n Submission, v machine.View, r Rules, heard *Verdict) Ruling {
	if n.Vague != "" {
		return s.vague(n, r)
	}
	ruling := s.Decide(v.Session, n.Answer, v.Now, r, heard)
	if b, ok := ruling.Body.(approvalv1.Decided); ok {
		b.Answers = []string{n.ID}
		ruling.Body = b
	}
	return ruling
}

// step is the one event that a ruling leads to. After a void the submission is looked at again.
func (u Ruling) step(n Submission) machine.Step {
	var body envelope.Body = noticev1.Posted{Service: Service, Text: u.Text, Answers: []string{n.ID}, Quiet: n.Quiet}
	if u.Body != nil {
		body = u.Body
	}
	return machine.Append{Body: body, Cause: n.ID}
}

func (a Approval) requested(r Rules) approvalv1.Requested {
	b := approvalv1.Requested{
		Approval: a.ID, Request: a.Request(), Why: a.Parked.Why, Shown: a.Parked.Shown,
		Approvers: slices.Clone(r.Approvers), Expires: a.expiry(r),
	}
	if a.Always() {
		b.Fixed, b.Grant = a.Parked.Fixed, a.Parked.Grant
	}
	if a.Form != nil {
		b.Schema = a.Form.Schema
	}
	b.Text, b.Ways = a.question(b)
	return b
}

func (a Approval) ref() approvalv1.Ref {
	return approvalv1.Ref{Approval: a.ID, Turn: a.Parked.Turn, Call: a.Parked.Call}
}

func (a Approval) append(b approvalv1.Event) machine.Step {
	return machine.Append{Body: b, Cause: a.Last}
}

// Void is the event that voids an open approval for a reason.
func (a Approval) Void(reason string) approvalv1.Voided {
	reason = oneLine(reason)
	return approvalv1.Voided{Ref: a.ref(), Reason: reason, Text: a.voidedText(reason)}
}
