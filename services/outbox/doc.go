// Package outbox shows a session's answers, failures, notices and approvals to the person, in journal order, and records
// what became of each: sent, failed, or unknown.
//
// It promises, for each session:
//
//   - Order. Item k is first touched when all before it are sent, failed or held. A session whose channel is down waits;
//     the others do not.
//   - Nothing is left out. Every turn.completed, turn.failed, turn.cancelled, notice.posted that is not quiet, approval.requested,
//     approval.decided, approval.expired, approval.voided, session.configured and session.reset with a text, every
//     session.compacted and compaction.failed that a person asked for, and every message.refused whose sender has no receipt,
//     ends with one delivery.sent, delivery.failed or delivery.unknown{resend: false}, whoever dies in between.
//   - No silent repeat. A second attempt follows only one that is recorded as not arrived (delivery.deferred) or as
//     perhaps arrived (delivery.unknown); after the latter it is marked as a repeat, on the wire too.
//   - A permanent error is not tried again. What may be tried again is tried Limits.Attempts times with growing waits.
//
// Where a channel has limits (a Pacer), an item waits for room before it is claimed, without an event. What Telegram refuses for
// its limits is deferred, and counts as no attempt. All outboxes of a bus keep Telegram's limits together (internal/telegram).
//
// An item may have several parts (Telegram takes 4,096 characters at a time): each is claimed, sent and recorded like an item,
// and only the last one ends it.
//
// What a model says is shown while it speaks, where the channel is a Presence: a draft is claimed (delivery.drafting), posted,
// recorded (delivery.drafted), edited, and becomes the first part of the item that the model call ends with. So an edit is all
// that the answer takes, which may be repeated, and a crash leaves no half answer behind: only one between the posting of a draft
// and its record leaves a message that nobody remembers, as does a post without an answer; what follows is then
// marked as a repeat. Typing and edits are lossy; nothing waits for them.
//
// A question with buttons is remembered until it is settled; what settles it is shown there.
//
// It does not promise exactly once: a channel without idempotency keys cannot. A worker that is taken for dead while it
// still sends cannot be called back either; the time limit of a send and the grace after it keep that to broken clocks.
//
// # Channels
//
// On a mailbox channel (http, terminal, mcp) whoever wants an answer reads it from the journal: an item is sent as soon as it
// is its turn. A channel with a Sender is called. Items of a channel that has neither fail, as nobody would see them. The
// HTTP channel is a mailbox until a callback is configured; then its items are pushed, and can still be asked for.
//
// # Sending
//
// Other programs say something in a conversation by svc.outbox.send, SendRequest → SendReceipt. It becomes a notice.posted of
// the outbox, in its place among all that is shown, and what becomes of it are the events that name SendReceipt.Delivery. It goes
// along a known route only: the conversation has to be there, and its channel be one that shows things in this deployment (a sender,
// a mailbox, or a sender in another process).
//
// With a key it is shown once. The id of its event is derived from session and key, it is appended by compare-and-set behind a
// fold that does not know it, and the fold remembers the last 64 of a session: until 64 other keys were used there, or the session is
// deleted, the same key gets the first receipt, whatever the request says besides, across restarts and processes. After that it
// is sent again. Without a key nothing is recognised: whoever got no answer does not know whether it was taken.
//
// Errors: fault.Invalid, TooLarge, NotFound (no such conversation), Full (90 % of the journal's MaxBytes), Busy (the session
// changes too fast), Timeout and Unavailable (unknown whether it was taken: repeat with the same key). Several at once in one
// session of one process are taken up one after the other, in the order of the journal.
//
// # When it dies
//
// The machine is services/outbox/delivery, the shell bus/actor. On a push channel:
//
//	it dies                          the journal has          what follows
//	before the claim                 the item                 the doorbell comes again; nothing happened
//	after the claim, before the call delivery.started         nobody can tell that it did not call: as the next
//	during the call                  delivery.started         the owner does not answer, or its deadline passes: another
//	                                                          appends delivery.unknown, and repeats or holds by policy
//	after the call, before the       delivery.started         the same; this is the repeat that a person may see
//	outcome is stored
//	after the outcome                the outcome              the doorbell comes again; the next item, or nothing
//	while it waits for a time        delivery.deferred        the doorbell (up to a minute) or a stored timer rings
//
// Unknown also follows a call that was written and not answered. With Limits.ResendUnknown it is repeated after the same
// wait as an attempt that did not arrive, and counts as an attempt; without, it is held: nothing sends it any more, and
// the items behind it go on. What is held or failed stays readable in the journal.
//
// Deleting a session drops what it was still owed; a reset does not.
package outbox
