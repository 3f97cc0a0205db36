// Package approvals asks a person before a risky tool call runs, and records the one answer that counts.
//
// It promises, for each call that the gate has parked (call.awaiting):
//
//   - One question, approval.requested, which shows exactly what would run and how long it is open.
//   - One end: approval.decided, approval.expired, approval.voided or approval.cancelled, or nothing more when its call or
//     its session ended otherwise. The first answer wins; who says the same again is told that it is fine, everybody else
//     who won.
//   - Only approvers decide: identities as their channel proves them, a Telegram user by number, never by name. The agent
//     is none of them: it has no way to append decision.submitted or to ask this service.
//   - Silence is no. At the instant of expiry a question is expired, and no trouble of ours, the gate's or the bus's
//     makes a call run.
//   - What is shown is what runs. Before it allows anything the service asks the gate again (svc.tools.judge); where
//     policy, tool, level, files or the text that would be shown differ, the question is void. A changed policy voids what is
//     parked also when nobody answers, at the start and every Config.SweepEvery, as soon as the gate can be asked.
//   - Each decision is signed (callv1.Statement) over all that it was about. Executors verify it; a decision that somebody
//     else has put into the journal allows nothing.
//
// The same holds for what an MCP server asks a person in the middle of a call (call.asked): the question shows what would be sent,
// an answer may hold other values, and is judged by the question's schema instead of the gate. It ends with its call.
//
// # Ways to answer
//
//	a channel             decision.submitted, in the session of the approval, which rings this service
//	svc.approvals.decide  as the identity "local": who may ask it can read the keys of the home
//
// Both come to approval.State.Decide and to one compare-and-set over the session. The endpoint alone takes other
// arguments; the gate judges them like any call, and what it returns is what is signed. In one process the answers that
// come by the endpoint take turns for each session, so that a thousand of them do not conflict a thousand times.
//
// # What a parked approval costs
//
// A few KiB in the journal and a snapshot, one stored timer a session, and an entry in the index of open ones (id,
// session, policy, expiry). No goroutine, no consumer, no open doorbell.
//
// The index is a hint for those who name an approval without its session. It is rebuilt from the journal beside the
// start, and kept by what the bus announces; every answer is made from the fold of the session. It reaches back a day
// further than a question is open: one asked under a longer Config.TTL is found through its session.
//
// # When it dies
//
//	it dies                          what follows
//	before approval.requested        the bell of the fact comes again; the id is derived, so it is the same approval
//	before the timer is stored       the same bell is still not acked: it comes again, and the timer is stored then
//	while an approval is open        the timer rings whoever lives then
//	with an answer not stored        a submission rings again; who has asked the endpoint sees an error and asks again
//	with an answer stored            it counts; the same again is "fine"
//
// A timer is stored when the machine waits, which is after approval.requested and not before. That is as good: a bell is
// acked only when the wait has been handed to a timer and the fold has not changed meanwhile (bus/actor), so from
// call.awaiting to the end of the approval an un-acked bell or a stored timer exists, and whichever comes looks at the
// whole session. A timer that rings early finds nothing to do and is stored again.
package approvals
