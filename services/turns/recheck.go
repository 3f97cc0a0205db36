package turns

import (
	"encoding/json"

	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// Recheck is the turn machine as it is asked about a journal.
func Recheck(rules recheck.Rules) (recheck.Machine, error) {
	return recheck.New(recheck.Spec[turn.State, turn.Rules]{
		Service: Spec().Name,
		Kinds:   Spec().Appends,
		Apply:   turn.State.Apply,
		Next: func(s turn.State, v machine.View, _ *envelope.Event, r turn.Rules) machine.Step {
			return s.Next(v, r)
		},
		Rules: func(recorded json.RawMessage) turn.Rules {
			r := turn.DefaultRules()
			if recorded != nil && json.Unmarshal(recorded, &r) != nil {
				return turn.DefaultRules()
			}
			return r
		},
		Given: func(ev envelope.Event) bool {
			switch ev.Body.(type) {
			case turnv1.SessionDeleted, turnv1.Forked: // a person asked for it
				return true
			}
			return false
		},
		Claim:    func(s turn.State, _ string) uint64 { return s.OpenClaim() },
		Outcome:  func(s turn.State, _ string, ev envelope.Event) envelope.Body { return outcomeOf(s, ev.Body) },
		Timeless: timeless,
	}, rules)
}

// outcomeOf is an outcome of the open claim with all that the machine determines of it written anew; nil when it is none.
func outcomeOf(s turn.State, body envelope.Body) envelope.Body {
	if co := s.Compaction; co != nil {
		switch b := body.(type) {
		case turnv1.SessionCompacted:
			b.Compaction, b.Attempt, b.By, b.Through = co.ID, co.Claim.Attempt, co.By, co.Through
			return b
		case turnv1.CompactionFailed:
			b.Compaction, b.Attempt, b.By = co.ID, co.Claim.Attempt, co.By
			return b
		}
		return nil
	}
	t := s.Turn
	of := func(o turnv1.Outcome) turnv1.Outcome {
		o.Turn, o.Round, o.Attempt = t.ID, t.Claim.Round, t.Claim.Attempt
		return o
	}
	switch b := body.(type) {
	case turnv1.Stepped:
		b.Outcome = of(b.Outcome)
		return b
	case turnv1.Completed:
		b.Outcome, b.Answers = of(b.Outcome), t.Messages
		return b
	case turnv1.Failed:
		b.Outcome, b.Answers = of(b.Outcome), t.Messages
		return b
	case turnv1.Overflowed:
		b.Outcome = of(b.Outcome)
		return b
	}
	return nil
}

// timeless is a claim with the recorded deadline.
func timeless(body, then envelope.Body) envelope.Body {
	switch b := body.(type) {
	case turnv1.Started:
		if t, ok := then.(turnv1.Started); ok {
			b.Deadline = t.Deadline
		}
		return b
	case turnv1.Continued:
		if t, ok := then.(turnv1.Continued); ok {
			b.Deadline = t.Deadline
		}
		return b
	case turnv1.Resumed:
		if t, ok := then.(turnv1.Resumed); ok {
			b.Deadline = t.Deadline
		}
		return b
	case turnv1.CompactionStarted:
		if t, ok := then.(turnv1.CompactionStarted); ok {
			b.Deadline = t.Deadline
		}
		return b
	}
	return body
}
