package mcp

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

// Simulated is the machine of the executors with run in the place of their servers, for whoever plays it without a bus. run is to be back
// by until, and makes no outcome of a ctx that has ended.
func Simulated(
	run func(ctx context.Context, claim envelope.Event, d callv1.Dispatched, until time.Time) (callv1.Completed, error),
) actor.Machine[execution.State] {
	rules := recorded{Attempts: attempts, Grace: grace}.rules()
	return actor.Machine[execution.State]{
		Service: Name,
		Version: execution.Version,
		Apply:   Calls().Apply,
		Part:    execution.Part,
		Next:    func(st execution.State, v machine.View) machine.Step { return st.Next(v, rules) },
		Perform: func(ctx context.Context, w actor.Work[execution.State]) (envelope.Body, error) {
			open, ok := w.State.Open(execution.Part(w.Claim))
			if !ok {
				return nil, fmt.Errorf("%s at %d of %s claims no call", w.Claim.Type(), w.Claim.Cursor, w.Session)
			}
			return run(ctx, w.Claim, open.Dispatched, w.Deadline.Add(-grace))
		},
	}
}
