package tools

import (
	"encoding/json"

	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

// Recheck is the gate's machine as it is asked about a journal. The judge's verdict is given: it saw a policy, a catalogue and
// files that are no longer there. Which call it was about, and what an approval allowed, is not.
func Recheck(rules recheck.Rules) (recheck.Machine, error) {
	return recheck.New(recheck.Spec[call.State, struct{}]{
		Service: Spec().Name,
		Kinds:   Spec().Appends,
		Apply:   call.State.Apply,
		Next: func(s call.State, v machine.View, ev *envelope.Event, _ struct{}) machine.Step {
			return s.Next(v, saidBy(ev))
		},
		Rules: func(json.RawMessage) struct{} { return struct{}{} },
	}, rules)
}

// saidBy is a judge that says what an event shows that it has said.
func saidBy(ev *envelope.Event) call.Judge {
	return func(q call.Question) call.Verdict {
		v := call.Verdict{Effect: call.Deny}
		if ev == nil {
			return v
		}
		switch b := ev.Body.(type) {
		case callv1.Dispatched:
			v = call.Verdict{Effect: call.Run, Request: b.Request, Rule: b.Rule, Always: b.Always, Limit: b.Limit, Again: b.Again}
		case callv1.Awaiting:
			v = call.Verdict{Effect: call.Ask, Request: b.Request, Rule: b.Rule, Why: b.Why, Shown: b.Shown, Fixed: b.Fixed, Grant: b.Grant}
		case callv1.Denied:
			v.Reason, v.Rule, v.Request.Policy = b.Reason, b.Rule, b.Policy
		}
		v.Request.Turn, v.Request.Call, v.Request.Index, v.Request.Tool = q.Turn, q.Call, q.Index, q.Tool
		return v
	}
}
