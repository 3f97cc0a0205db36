// Package call is the pure machine of the gate: for each tool call that a model has asked for, whether it is handed to its
// executor, parked until a person has decided, or denied.
//
//	turn.stepped ──► asked ──judge──► dispatched ──call.completed──► gone
//	                   │ ask                ▲
//	                   ▼                    │ judged again: still the same
//	                awaiting ──allowed──► allowed
//	                   │                    │ no longer the same
//	                   ├──denied, expired,  ▼
//	                   └──voided──────► refused ──call.denied──► gone
//
// All calls of one step are decided one after the other, in their order, each by an event of its own; none waits for
// another. Invariants:
//
//   - Nothing is dispatched unless the judge says run, or a person has allowed exactly this request and the judge, asked
//     again now, would still put the same request to the person. What differs is denied, and the model is told.
//   - A call is dispatched at most once, and never after its turn has ended or its approval was denied, expired or voided.
//   - Every call of a running turn ends up dispatched, awaiting or denied: then the machine has no step, and the event that
//     goes on (call.completed, approval.*) is somebody else's to append.
//   - Taints are only added, until session.reset begins afresh. A summary of the past keeps them. A message with words or files
//     of others taints from when it comes; one that still waits for its answer at a reset taints what begins then, too. What a
//     program outside has said to the person (notice.posted with By) taints from when it is posted: the model is shown it.
//   - A session that begins with the past of another one (session.forked) has its taints, and none of what people had allowed
//     there: neither its decisions "always" nor its open calls.
package call
