// Package judge decides from outside whether a run kept its promises. It is pure: it gets what the senders saw, what a
// receiver of pushed replies saw, what the model was asked, and the journal as it was stored, and returns every
// violation it can find.
//
// The promises:
//
//	lost        an accepted message is in the journal, and what is recorded as pushed has arrived
//	doubled     a key is received once; a message has one final answer; the model is asked once a claim; a reply is
//	            pushed twice only where an unknown outcome is recorded
//	disordered  in a session, messages are received as they were sent, turns start and end as they were received, one
//	            at a time, and replies go out as they were made
//	stuck       when all is quiet no turn runs, no message waits, no delivery is pending, every sender has its answer
//	broken      every event names the one before it in its session, and can be read
//	wrong       a sender gets the answer to his own message, the one that the journal has
//	failed      no turn failed without a cause of its own
package judge
