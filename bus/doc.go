// Package bus is jetclaw's mechanism on NATS JetStream. It knows streams, subjects and acks, and nothing of agents.
//
//	journal    append by compare-and-set over a session, read by cursor
//	doorbells  deliveries that say "this session has news"
//	replay     the journal in batches; Follow and Watch for what comes
//	history    one session, back along its chain; where that has a hole
//	recent     the newest events, remembered by a process for all its connections
//	snapshots  folded states, rebuildable
//	values     small things that a service keeps across restarts
//	purge      takes away what a deleted session had, bodies and files included
//	timers     scheduled messages that ring a service; Ring does it at once
//	dead       doorbells that were given up
//	rules      what machines were configured with, by the digest in their events
//	blobs      bodies above 64 KiB, by reference
//	micro      questions that want an answer
//	live       lossy news for whoever watches
//	workers    asks and nudges between the workers of one service
//	topology   streams, consumers and buckets as data; permissions derived from each service's Spec
//
// # The chain
//
// Every event of a session carries in jc-prev the cursor of the one before, and was stored only because that was still
// the session's last (Nats-Expected-Last-Subject-Sequence over ev.<vp>.<session>.>). So a session's history is a linked
// list without gaps that can be walked back by sequence from any of its events, and no two decisions can both follow the
// same past. That one mechanism is lock, fence, idempotency and integrity check.
//
// # When the bus is lost
//
// What is in flight when a connection is lost ends at once. Readings and appends are asked again when the connection is back, within
// their context (10 s without a deadline); what may not be done twice (a question to a service, a value) is a fault.Timeout. What
// begins while the bus is away fails at once.
//
// A server that is cut off from its cluster goes on to answer its connections. One that knows several servers looks for a sign of the
// journal's leader, and goes to another server when there is none for 3 s: see cutoff.go.
//
// # What an error of Append means
//
//	*Conflict           not stored by this call; an earlier one with the same ID may have been: look for it
//	fault.Full          not stored
//	fault.Timeout,
//	fault.Unavailable   unknown
package bus
