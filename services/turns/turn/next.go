package turn

import (
	"fmt"
	"slices"

	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Next says what the session needs now, or nil when it is quiescent: no turn runs and the inbox is empty, or the turn
// waits for open calls and nobody has asked to stop it. Only then may a doorbell be acked.
func (s State) Next(v machine.View, l Limits) machine.Step {
	if s.Turn != nil {
		return s.Turn.next(v, l)
	}
	if len(s.Inbox) == 0 {
		return nil
	}
	head := s.Inbox[0]
	if head.New {
		return machine.Append{Body: turnv1.SessionReset{By: head.ID}, Cause: head.ID}
	}
	// Queue mode followup: one message, one turn; what arrives meanwhile waits for its own.
	t := &Turn{ID: head.ID + "/t", Messages: []string{head.ID}}
	return machine.Append{Body: turnv1.Started{Claim: t.newClaim(v, l, 1, 1)}, Cause: head.ID, Claim: true}
}

func (t *Turn) next(v machine.View, l Limits) machine.Step {
	switch {
	case t.Stop != "": // whoever asks: the owner of a claim is fenced by this very append
		return machine.Append{
			Body:  turnv1.Cancelled{Turn: t.ID, Answers: slices.Clone(t.Messages), By: t.Stop},
			Cause: t.Stop, Tell: t.owner(),
		}
	case t.Open:
		return t.call(v, l)
	case slices.ContainsFunc(t.calls(), func(c Call) bool { return !c.Done }):
		return nil
	case t.Claim.Round >= l.Rounds:
		return t.fail(turnv1.TooManyRounds, fmt.Sprintf(
			"I gave up: after %d rounds of tool calls there was still no answer. Try a smaller task, or ask me to go on.", t.Claim.Round))
	case t.Spent >= l.TurnTime:
		return t.fail(turnv1.TimedOut, fmt.Sprintf(
			"I gave up: the time limit for one answer (%s) is used up. Try a smaller task, or ask me to go on.", l.TurnTime))
	}
	return machine.Append{Body: turnv1.Continued{Claim: t.newClaim(v, l, t.Claim.Round+1, 1)}, Cause: t.Cause, Claim: true}
}

// call is the step while a model call is claimed. A deadline that has passed ends the claim for its owner too.
func (t *Turn) call(v machine.View, l Limits) machine.Step {
	c := t.Claim
	late := v.Now.After(c.Deadline)
	switch {
	case v.Mine == c.Cursor && !late:
		return machine.Perform{Claim: c.Cursor, Deadline: c.Deadline}
	case v.Gone != c.Cursor && !late:
		return machine.Held{Claim: c.Cursor, Worker: c.Worker, Since: c.At, Deadline: c.Deadline, Attempt: c.Attempt}
	case c.Attempt >= l.Attempts:
		return t.fail(turnv1.Exhausted, fmt.Sprintf(
			"I could not answer: the work on it was interrupted %d times. Please send the message again.", c.Attempt))
	}
	return machine.Append{
		Body:  turnv1.Resumed{Claim: t.newClaim(v, l, c.Round, c.Attempt+1), From: c.Worker},
		Cause: t.Cause, Claim: true,
	}
}

func (t *Turn) newClaim(v machine.View, l Limits, round, attempt int) turnv1.Claim {
	return turnv1.Claim{
		Turn: t.ID, Round: round, Attempt: attempt, Worker: v.Worker, Messages: slices.Clone(t.Messages),
		Deadline: v.Now.Add(min(l.CallTime, l.TurnTime-t.Spent) + l.Grace),
	}
}

func (t *Turn) fail(cause turnv1.Cause, text string) machine.Step {
	return machine.Append{Body: turnv1.Failed{
		Outcome: turnv1.Outcome{Turn: t.ID, Round: t.Claim.Round, Attempt: t.Claim.Attempt},
		Answers: slices.Clone(t.Messages), Cause: cause, Text: text,
	}, Cause: t.Cause, Tell: t.owner()}
}

// owner is the worker whose open claim ends with the turn, or "".
func (t *Turn) owner() string {
	if t.Open {
		return t.Claim.Worker
	}
	return ""
}
