// Package prompt decides what a model is shown: it turns the fold of a session, the workspace's files and skills, and the
// tools on offer into one well-formed request that fits into the model's window. It is pure: the same input gives the
// same request, so that a replay, a second try and `jetclaw context` show what was sent.
//
// The order is that of how seldom something changes, so that a provider's prompt cache holds for as long as possible:
//
//	system   instructions, files, skills, what the fences mean, the summary of what was compacted
//	history  finished turns, oldest first; a note first when some are left out
//	turn     the running turn, all of its messages
//
// What does not fit is given up in this order:
//
//  1. results of tools in finished turns, oldest first (the newest turns keep theirs, as long as they take no more than
//     half of the history's room);
//  2. finished turns, oldest first, each as a whole;
//  3. results in earlier rounds of the running turn, oldest first, as soon as that turn takes more than three quarters of
//     all room, so that it does not push out everything that was said before;
//  4. all results of the running turn, down to a floor; then its long texts.
//
// A call always keeps its result, and there is always a request. Where a result is cut that an event has all of, a note behind
// its fence says how to read what is left out. Files, skills and the summary have shares of the budget of their own, because a
// small window full of files leaves no room to talk. Sizes are estimates (see Tokens); each time that a provider says that
// the turn's request was too long, all budgets are halved.
//
// A person's message is shown with what belongs to it: in a group, who has written it; what it replies to; where it was
// forwarded from; each file as a line. Names are cleaned and bounded, and in a group no line of a text can pass for another
// person's. Of pictures, a model that can see is sent the newest (MaxPictures, MaxPictureBytes, half of the budget); a plan
// holds references to them only. Pictures count as a part of their own, so they push out what is old like any text. The line of
// a document that looks like text has the id that read_attachment takes, where that tool is offered.
//
// Text that came from a tool, that somebody else has written (forwarded, quoted), that a program outside has said to the person in the
// agent's name, and summaries, which were made of such text,
// stand between fences: marks with a code that is
// derived from the turn and the call (or the place of the message), and a line that says what is inside. The code is not known to who wrote the text;
// and because ids can be guessed, anything inside that reads like a mark is defused whatever its code.
//
// Calls of the past stand under the names with which tools are offered (package offer).
//
// Repair is the last step, and holds for any list of messages: what providers demand of calls, results, ids, names,
// arguments and texts is true afterwards.
package prompt
