// Package chat decides from outside whether a messenger's people got what they were owed. It is pure: it gets what they did, the
// journal as it was stored, and what the messenger itself has seen, and returns every violation it can find. What the journal
// promises by itself (its chains, turns and deliveries) is for package judge; both verdicts together are that of a run.
//
// The promises, by judge's kinds:
//
//	lost        what was written is in the journal, with its whole text and all its files; its answer stands in its chat, whole;
//	            what nobody can read is kept aside; nothing waits unconfirmed at the messenger
//	doubled     each of them once; a part of an answer stands in the chat once, but for attempts that are recorded as unknown
//	disordered  in a chat, messages are received as they were sent and answered as they were received
//	stuck       when all is quiet, nothing that was received waits for its answer, and no answer for its delivery
//	wrong       an answer is about its message, as that was when a turn took it up, and in its chat; a part that may be there
//	            already says so, and no other does; what was edited is written down; the messenger's limits are kept, its
//	            "retry after" too, and it refuses nothing; nobody polls beside the one who may; a draft ends as an answer
package chat
