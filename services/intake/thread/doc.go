// Package thread is the pure machine of intake: what came into one session from outside, and what became of it.
//
// It has two halves. [Admit] is the one gate for every way in: a message, an edit, a command or a decision, from whatever
// channel, becomes exactly one event of messagev1, which may be a refusal. [State] is the fold of a session: for each
// thing that came in, by its id, the cursor of its event and the cursor and kind of what answered it. From it follow the
// two promises of intake: the same source key gives the same answer for as long as the session lives, and a reply can be
// looked up after any restart. [Ends] says what an event means for what came in, to the fold and to whoever waits for
// news. The fold also knows the approvals that the running turn waits for ([State.Approvals]), so that whoever wrote a
// message of that turn can be told that a person has to decide first.
//
// The fold knows, too, which questions of programs outside are open ([State.Waits]); a message that is the answer to one
// ([AnswerOf]) is none to the agent when the person may give it, which is for the service to say.
//
// An id is derived from the session and the source's key ([MessageID]), so looking up by key and by id is the same
// thing, and a second event with a known id changes nothing.
//
// State is a value: Apply copies what it changes, a few nodes of a trie and not the whole of a long session.
package thread
