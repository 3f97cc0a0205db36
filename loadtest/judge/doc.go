// Package judge decides from outside whether a run kept its promises. It is pure: it gets what the senders saw, what a
// receiver of pushed replies saw, what the model was asked, and the journal as it was stored, and returns every
// violation it can find.
//
// The promises:
//
//	lost        an accepted message is in the journal, and what is recorded as pushed has arrived
//	doubled     a key is received once; a message has one outcome, and so has a command; the model is asked once a
//	            claim; a reply is pushed twice only where an unknown outcome is recorded
//	disordered  in a session, messages are received as they were sent, turns start and end as they were received, one
//	            at a time, and replies go out as they were made; what is cancelled is out of the order
//	stuck       when all is quiet no turn and no compaction runs, no message or command waits, no delivery is pending,
//	            every sender has its answer
//	broken      every event names the one before it in its session, and can be read
//	wrong       a sender gets the answer to his own message, the one that the journal has; a turn answers what it showed
//	            the model; messages join it in queue mode steer only, and are cancelled only by a stop, a newer message
//	            in queue mode interrupt, or a full queue; a compaction replaces finished turns only
//	failed      no turn failed without a cause of its own
package judge
