// Package health judges a jetclaw from what somebody has gathered: it asks nobody and changes nothing.
//
//	Judge   liveness: whether whoever owns a session's next step will be woken for it
//	Chain   integrity: whether every event follows on the one that its session had before it
//	Kept    whether a snapshot is the fold that today's machine makes
//
// # What counts as a doorbell
//
// A step that is due, and a wait for a later time, need one of these, or nobody ever takes them:
//
//   - A timer of the service for the session, which rings in time, or has rung and is not settled.
//   - The newest event that rings the service, if its consumer has not settled it. Above what was ever delivered that is
//     certain; at or below the ack floor, or when nothing delivered is open, it is certain that it has. Between the two the
//     server does not tell. It is believed for as long as Patience after the step became due, as a worker is most likely at
//     it; for longer only while no worker is there, as a start looks at everything above the ack floor.
//
// Who looks gathers in this order: consumers, then the session, then its timers. So a doorbell that is rung meanwhile counts as
// undelivered. A step that is taken meanwhile can look stuck for a moment: a finding is one only when a second look says so,
// too.
package health
