// Package conversations is the read model of what was said: it lists, shows and searches conversations.
//
// It promises:
//
//   - It is never a source of truth. It appends nothing; all that it knows is folded from the journal, into one SQLite file that
//     can be deleted at any time. A file that is missing, damaged, another's, of another version, or of another journal is removed
//     and built again, with a line in the log.
//   - Every answer says how far behind the journal it is (Behind). What was stored before a question was asked is in the answer,
//     unless the service is still catching up.
//   - It is ready once it takes questions, and catches up beside them: the file is opened a moment later, or with the first
//     question, so that a start pays nothing for it.
//   - A deleted session (session.deleted) leaves no text behind: rows, words and log are overwritten. A reset session keeps its
//     messages; a notice stands where it began afresh. The sessions of the house (channel "house") are none.
//   - What a program outside has said for the agent (notice.posted with By) is a message of the assistant, from that program; so is its
//     question for a permission. What a person has answered to that is none.
//   - Open is what a session may still owe somebody, a superset of what is due (services/conversations/conversation): what is not
//     listed there needs no closer look.
//   - An answer is below bus.MaxRequest: texts are cut (Message.Cut), lists and pages end early and say so (Next, More).
//
// # What it costs
//
// Events come in journal order from bus.Conn.Follow, without a gap, and are written in batches: what has come in a quarter of a
// second, or 500 events, and at once when somebody asks. One batch is one transaction, cursor included. States of the sessions
// that were active last are kept in memory, at most cacheSessions. Nothing wakes up while nothing comes.
//
// # When it dies
//
//	it dies                       what follows
//	before a batch is committed   its events are read again: the cursor is that of the last batch
//	while it builds a new file    the old one is as it was, and goes on to answer; what was built is thrown away
//	between the two files         the old one is removed, the new one not yet in its place: it is built again
//
// A disk that is full or broken is logged and tried again, with growing waits; meanwhile questions are answered from what there
// is, or are fault.Unavailable.
package conversations
