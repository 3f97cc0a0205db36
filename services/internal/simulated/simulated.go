// Package simulated is the machine of executors (services/builtin, services/mcp) with something else in the place of their tools and
// servers, for whoever plays it without a bus: cmd/internal/sim, by the door that each of them has.
package simulated

import (
	"context"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/services/internal/execution"
)

// Run carries a call out. It is to be back by until, and makes no outcome of a ctx that has ended.
type Run = func(ctx context.Context, claim envelope.Event, d callv1.Dispatched, until time.Time) (callv1.Completed, error)

// Machine is that of a service's executors. What they are configured with, and how they fold, is theirs; run is back as long before
// the deadline as the rules leave to tell of it.
func Machine(service string, apply func(execution.State, envelope.Event) execution.State, rules execution.Rules, run Run) actor.Machine[execution.State] {
	return actor.Machine[execution.State]{
		Service: service,
		Version: execution.Version,
		Apply:   apply,
		Part:    execution.Part,
		Next:    func(st execution.State, v machine.View) machine.Step { return st.Next(v, rules) },
		Perform: func(ctx context.Context, w actor.Work[execution.State]) (envelope.Body, error) {
			open, ok := w.State.Open(execution.Part(w.Claim))
			if !ok {
				return nil, fmt.Errorf("%s at %d of %s claims no call", w.Claim.Type(), w.Claim.Cursor, w.Session)
			}
			return run(ctx, w.Claim, open.Dispatched, w.Deadline.Add(-rules.Grace))
		},
	}
}
