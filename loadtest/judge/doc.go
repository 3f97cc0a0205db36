// Package judge decides from outside whether a run kept its promises. It is pure: it gets what the senders saw, what a
// receiver of pushed replies saw, what the model was asked, and the journal as it was stored, and returns every
// violation it can find.
//
// The promises:
//
//	lost        an accepted message is in the journal; what is recorded as pushed has arrived, and what a tool call
//	            that has succeeded was to write is there
//	doubled     a key is received once; a message has one outcome, and so has a command, and a tool call; the model is
//	            asked once a claim; a reply is pushed twice only where an unknown outcome is recorded; a tool call runs
//	            once, unless it may be repeated
//	disordered  in a session, messages are received as they were sent, turns start and end as they were received, one
//	            at a time, and replies go out as they were made; what is cancelled is out of the order
//	stuck       when all is quiet no turn and no compaction runs, no message, command or tool call waits, no delivery is
//	            pending, every sender has its answer
//	broken      every event names the one before it in its session, and can be read
//	wrong       a sender gets the answer to his own message, the one that the journal has; a turn answers what it showed
//	            the model; messages join it in queue mode steer only, and are cancelled only by a stop, a newer message
//	            in queue mode interrupt, or a full queue; a compaction replaces finished turns only; a tool call runs when that was
//	            decided and claimed, and a turn goes on when all of its calls are done; one that
//	            has to wait for a person runs by that person's word, given by one who may, for this call, once
//	failed      no turn failed without a cause of its own
package judge
