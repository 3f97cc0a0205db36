// Package approval is the pure machine of the approvals service: which questions to a person are open in one session, what
// becomes of each, and what each answer is told.
//
//	call.awaiting ──► parked ──requested──► open ──┬── decided    the first answer that counts
//	                    │                          ├── expired    at the instant Expires, or after it
//	                    │                          ├── voided     what would run is no longer what was asked
//	                    └──────────────────────────┴── cancelled  its turn has ended
//
//	call.asked ──────► parked (a Form) ──► as above; also cancelled when its call has an outcome, or asks something else
//
//	decision.submitted ──► inbox ──► decided{answers} | notice.posted{answers}
//
// Invariants:
//
//   - Every call.awaiting ends once: decided, expired, voided, cancelled, or closed by what became of its call.
//   - Only an approver allows or denies, both of those that were written into the question and of those that hold today.
//     Nobody decides at Expires or later, nor before the question was asked.
//   - Nothing is allowed unless the gate, asked again just before, would still put the very same request to a person. Doubt
//     is no answer: the submission waits, until the question expires. A denial needs no gate.
//   - "Always" holds for the grant that was shown, never for a call of level L3.
//   - A question in the middle of a call (Form) is answered once, with what its schema takes and nothing else; no gate is asked,
//     as nothing new runs. It is open no longer than its call waits for it, and bound to the question's own digest: a decision
//     about it allows no call.
//   - Every submission is answered once, those about one approval in journal order. One that names no approval is bound
//     where it stands in the journal: to the only one that was open there, never to one that came later.
//   - Who may not decide learns nothing of what is asked.
//   - A second fact with the id or key of one that is known changes nothing.
package approval
