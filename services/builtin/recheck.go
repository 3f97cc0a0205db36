package builtin

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/services/internal/execution"
)

// recorded are execution.Rules as data.
type recorded struct {
	Timeouts map[string]time.Duration `json:"timeouts"` // by tool
	Again    []string                 `json:"again"`    // tools that may be carried out twice
	Attempts int                      `json:"attempts"`
	Grace    time.Duration            `json:"grace"`
}

// recorded are the rules of this process.
func (s *Service) recorded() recorded {
	r := recorded{Timeouts: map[string]time.Duration{}, Attempts: attempts, Grace: grace}
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		r.Timeouts[name] = s.tools[name].Timeout
		if s.tools[name].Again {
			r.Again = append(r.Again, name)
		}
	}
	return r
}

func (r recorded) rules() execution.Rules {
	return execution.Rules{
		Timeout: func(tool string) time.Duration {
			if d, ok := r.Timeouts[tool]; ok {
				return d
			}
			return r.Grace // it is refused at once
		},
		Again:    func(tool string) bool { return slices.Contains(r.Again, tool) },
		Attempts: r.Attempts, Grace: r.Grace,
	}
}

// Recheck is the executor's machine as it is asked about a journal.
func Recheck(rules recheck.Rules) (recheck.Machine, error) {
	return recheck.New(recheck.Spec[execution.State, execution.Rules]{
		Service: Spec().Name,
		Kinds:   Spec().Appends,
		Apply:   calls().Apply,
		Next: func(s execution.State, v machine.View, _ *envelope.Event, r execution.Rules) machine.Step {
			return s.Next(v, r)
		},
		Rules: func(raw json.RawMessage) execution.Rules {
			r := recorded{Attempts: attempts, Grace: grace}
			if raw != nil && json.Unmarshal(raw, &r) != nil {
				r = recorded{Attempts: attempts, Grace: grace}
			}
			return r.rules()
		},
		Parts:    execution.State.Parts,
		Part:     execution.Part,
		Claim:    execution.State.ClaimOf,
		Outcome:  execution.State.Outcome,
		Timeless: execution.Timeless,
	}, rules)
}
