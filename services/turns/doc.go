// Package turns answers people: it takes each message that was let in, calls the model, and appends what came of it.
//
// The decisions are the pure machine's (package turn); the shell (bus/actor) loads, appends and acks; what is here is
// the effect, one model call.
//
//	message.received ──▶ turn.started ──▶ model ──▶ turn.completed        the answer
//	                                        │  └──▶ turn.failed           why there is none; always told to the person
//	                                        ├─────▶ turn.stepped{calls} ──▶ (tools) ──▶ turn.continued ──▶ model …
//	control.requested{stop} ────────────────┴─────▶ turn.cancelled
//	control.requested{new} ───────────────────────▶ session.reset
//
// It promises:
//
//   - Every message gets exactly one of turn.completed, turn.failed and turn.cancelled, in the order of arrival.
//   - One model call at a time in a session, however many workers there are.
//   - Whatever a model does (garbage, half an answer, an HTTP error, nothing at all) ends the turn with a text that says
//     what happened and what to do, and lets the next message go on.
//   - While tool calls are open nothing is held in memory: the calls' own doorbells wake the session.
//   - The text of a running answer is on live.<session> as Delta, lossy.
//
// What happens when it dies:
//
//	before turn.started        the message's doorbell comes again
//	during the model call      a worker asks for the owner, and appends turn.resumed{attempt+1}: the call is made again.
//	                           Deltas of the lost attempt were perhaps seen; the new attempt begins the text again
//	after the model's answer,  the same: the answer is lost and asked for again (it may differ); nobody has seen it as
//	before it is appended      an answer
//	after turn.completed       the doorbell comes again, nothing is left to do, it is acked
//	six times in one call      turn.failed{exhausted}: the person is told, the session goes on
//
// A worker that was taken over and lives on loses its next append; its outcome names an attempt that is no longer open.
package turns
