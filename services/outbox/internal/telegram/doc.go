// Package telegram shows a session's items in its Telegram chat: one part of one item is one message of the Bot API.
//
// A session id is <agent>.telegram.<account>.<peer>; the peer is a private chat (12345), a group (-100777) or a topic of one
// (-100777_t42; topic 1 is the forum's "General"). The account names the bot.
//
// # What becomes of an item
//
//	turn.completed          its Markdown as text and entities, in as many messages as it takes; what is refused for its
//	                        entities goes again at once without them, in the same parts
//	everything else         its text as it is, never interpreted
//	Draft, part 0           the message that showed the answer as it came is edited; if it is gone: a new message
//	approval.requested      buttons on the last part; their data carry no authority
//	Prompt                  the question is edited: what became of it is added, its buttons go. If that is too long the
//	                        buttons go and the text is a message of its own; if the question is gone, only that
//	Repeat                  a new message begins with a mark that it may have been shown before; an edit needs none
//	Reply                   the first part answers that message, if it is still there
//	a part beyond the last  nothing: the last was sent, by a version that cut the text otherwise
//
// A receipt is the message's id as a decimal, or <chat>/<id> where the group has got another number since the session was
// named: ids do not survive that, and an edit of the same id there would be one of another message.
//
// # What the errors mean
//
// Telegram has no idempotency key: a send without an answer is Unknown. An edit shows the same however often it is made,
// so that an edit without an answer is Retry.
//
//	nothing was sent                             Retry, Untried, within five minutes: the network is away, and comes back
//	409, 5xx that says so                        Retry
//	429                                          Retry, Untried: the chat is held until then, the others go on
//	401, 404, a refusal by what is no Bot API    Retry, Untried, after a minute: the token or api_root is wrong, the item is not
//	other refusals                               Permanent, with the reason: blocked, chat not found, no rights, topic gone.
//	                                             What belongs in a topic is never shown in General instead
//	no readable answer                           Unknown; Retry for edits
//
// # The limits
//
// Queue of calls: ordered by arrival within a chat, and among chats that may be called; bounded by its callers, one call
// each; blocking until CallTime before the caller's deadline; not lossy. No span of time holds more calls than a Limit says.
// A call counts from its begin until after its answer, so that this is true at the server, too, however long either
// takes. Who would wait too long is told when to come back (Retry, Untried) and keeps the place for a while. Drafts never
// wait, go behind all that does, and leave a third of the larger limits to it.
//
// The limits are those of a bot, whatever the number of processes that speak for it: what they call they tell each other on a page
// in a store that all of them have (page, board). The page is replaced by compare-and-set, once before a call and once behind it; a
// call is made when a page that counts it is stored, so that each is decided with all before it in view, those of a process that has
// ended too. A 429 that one of them gets holds the chat for all. It is politeness, not a lock: for a process that cannot use the
// store for seconds, that stands still between the page and the call, or whose call takes longer than the others count it (flight),
// Telegram's 429 is what keeps them apart.
//
// Nothing of a text or a token gets into a log line or an error.
package telegram
