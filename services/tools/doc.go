// Package tools is the gate between a model's tool calls and those who carry them out: nothing runs that was not decided
// here, and everything that was decided is an event.
//
// For each call of a turn.stepped it appends one of
//
//	call.dispatched.<executor>   it may run: by its level, by a rule of the operator, or because a person has allowed it
//	call.awaiting                a person is asked (services/approvals); the call waits as long as that takes
//	call.denied                  it may not; the model is told why
//
// The machine is services/tools/call, the shell bus/actor; the rules are internal/gate. Nothing here has an effect: when
// the service dies at any step the doorbell comes again, the fold says what is decided already, and the rest is decided
// then. What a person has allowed is judged once more before it is dispatched; if the policy, the tool, the arguments or a
// file has changed since, it is denied, and told. Around the gate, calls to an executor that is paused (toolv1.Paused) are denied
// at once, with until when: nothing waits silently.
//
// Endpoints: svc.tools.judge (approvals asks what would run before it is signed), svc.tools.version (of the policy, so that
// what is parked can be voided), svc.tools.explain (for people: which rule decides, and why; and which tools there are, or an agent may
// use at all).
package tools
