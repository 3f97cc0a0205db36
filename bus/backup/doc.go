// Package backup copies the streams of a bus to a folder while work goes on, and brings them back.
//
//	DIR/EV, DIR/TIMERS, …   one file a stream: the server's own archive of it (S2), with its durable consumers and their state
//	DIR/manifest.json       what each file is: bytes, SHA-256, messages, first and last sequence, configuration of the stream
//
// Sequences (cursors), headers, bodies and times come back as they were. The bucket of snapshots is left out: it is
// rebuilt. So are consumers that are not durable. Keys and configuration are no part of the bus.
//
// # What is in a copy
//
// Everything that was acknowledged before Save began, and more: the copy is not of one moment. The server's snapshot of a
// stream goes up to the last sequence at its start, and leaves out what is deleted or replaced while it is made: of a
// value that is set meanwhile, it has neither the old one nor the new. Consumers are read after that start, so a doorbell
// may be acked in it because of an event that is not. Therefore each copy has a tail: what was stored after the snapshot's
// last sequence is read from the leader and appended, and so are subjects that were replaced faster than they were read.
// The archive is written anew for that (nats-server 2.15's form; its state.json keeps the server's numbers, as a restore goes
// by the messages themselves). The tail is what makes these hold:
//
//   - a value, an object or a timer that existed all the time is in the copy, in one of its versions;
//   - a purge that ran meanwhile comes with the tombstone that explains it;
//   - whatever was appended before a doorbell was acked is in the copy if the ack is.
//
// # Order
//
//	EV, up to its snapshot's end    a bell that is acked here has set its timer before …
//	TIMERS, to its end              … so the timer is here; a ring that is acked here has appended its event before …
//	EV, its tail                    … so the event is here; bells of the tail are not acked, they ring again
//	OBJ_blobs, KV_settings          what events refer to was put before them
//	KV_catalog, DEAD, SYS           no other stream hangs on these
//
// So no step is lost between two streams: at worst a bell or a timer rings twice, which any of them may at any time.
// What looks for sessions that have a step and no bell finds none after a restore that worked; it is run all the same.
//
// # When it dies
//
//	while saving      the folder has another name (DIR.partial-…) until it is complete and synced: it may be removed
//	while checking    Restore looks at all files before it touches anything
//	while restoring   EV comes last and bears a mark (in its stream's metadata) until it is complete. An EV that is empty or
//	                  bears the mark may be replaced, so Restore can be repeated; any other one is refused
//
// A restored step that was under way goes on: what went out to people after the copy was made may go out again.
package backup
