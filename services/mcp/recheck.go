package mcp

import (
	"encoding/json"
	"time"

	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/services/internal/execution"
)

// recorded are execution.Rules as data.
type recorded struct {
	Attempts int           `json:"attempts"`
	Grace    time.Duration `json:"grace"`
}

func (r recorded) rules() execution.Rules {
	return execution.Rules{Attempts: r.Attempts, Grace: r.Grace}
}

// Recheck is the service's machine as it is asked about a journal. Given is that a server was paused or was not configured any more
// when a call was to be started, and what servers ask.
func Recheck(rules recheck.Rules) (recheck.Machine, error) {
	return recheck.New(recheck.Spec[execution.State, execution.Rules]{
		Service: Name,
		Kinds:   Spec().Appends,
		Apply:   Calls().Apply,
		Next: func(s execution.State, v machine.View, ev *envelope.Event, r execution.Rules) machine.Step {
			r.Refuse = refusedBy(ev)
			return s.Next(v, r)
		},
		Rules: func(raw json.RawMessage) execution.Rules {
			r := recorded{Attempts: attempts, Grace: grace}
			if raw != nil && json.Unmarshal(raw, &r) != nil {
				r = recorded{Attempts: attempts, Grace: grace}
			}
			return r.rules()
		},
		Given:    func(ev envelope.Event) bool { _, ok := ev.Body.(callv1.Asked); return ok }, // by its server
		Parts:    execution.State.Parts,
		Part:     execution.Part,
		Claim:    execution.State.ClaimOf,
		Outcome:  execution.State.Outcome,
		Timeless: execution.Timeless,
	}, rules)
}

// refusedBy says what an event shows of a call that was not started.
func refusedBy(ev *envelope.Event) func(execution.Call, time.Time) string {
	return func(c execution.Call, _ time.Time) string {
		if ev == nil {
			return ""
		}
		if b, ok := ev.Body.(callv1.Completed); ok && b.Attempt == 0 && b.Outcome == callv1.Refused && b.Turn == c.Turn && b.Call == c.Call {
			return b.Content
		}
		return ""
	}
}
