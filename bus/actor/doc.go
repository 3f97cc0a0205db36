// Package actor is the shell around every pure machine: it turns doorbells into folds, asks the machine for the next
// step, does it, and acks when there is none. It is written once; a service adds its machine and its effect.
//
// # Lanes
//
// A lane is one goroutine for one session while that session has doorbells in this process. It collects them, folds up
// to the newest, and goes on until the machine has no step; then it acks them together. Lanes of other processes may work
// on the same session at the same time: the compare-and-set of the journal lets one of them decide.
//
// A machine may say that an event which rings belongs to a part of its session (Machine.Part): a call of many that run at
// a time. Each part then has a lane of its own, with its own bells, its own claim (machine.View.Mine and Gone are of that
// lane) and its own effect; it asks Next for its part (machine.View.Part), and acks when that part has no step. Timers
// ring part "". The fold is one a session, in memory and in snapshots, and so is the compare-and-set: the lanes of a
// session are to each other what lanes of other processes are. Those of one process take turns at looking and appending,
// and hand each other the fold, as otherwise n effects that end at once would make n² appends; nobody holds the turn
// while an effect runs, and one who stands still with it is overtaken. A part's step may close the claims of others: with
// machine.Append.Tell all lanes of this process look at once, as does the worker that is named.
//
//	        ring                      Next
//	bells ───────▶ [fold to newest] ───────▶ nil      ack all bells, keep the fold, end
//	                      ▲                  Append   compare-and-set; a conflict folds the news and asks again
//	                      │                           (Beside: also while the effect runs, which goes on)
//	                      │                  Perform  the effect of the claim that this run appended; its outcome is appended
//	                      └──────────────    Held     ask the owner; nak, or tell the machine that the owner is gone
//	                                         Wait     nak until then, or a timer and ack
//
// # Invariants
//
//   - A bell is acked only when a fold that includes its event has no step for its part. Nothing else is a reason to ack.
//   - An effect runs only for a claim that this very run of the lane appended (machine.View.Mine), once.
//   - An effect begins only when its claim was made, or was seen to be open in the journal, less than AckWait/2 ago.
//   - An outcome is appended only while the machine still asks for that effect on the newest fold. A server that is away
//     or has no room does not undo what was done: the append is tried until the claim's deadline.
//   - An effect that fails or panics leaves its claim open. How often it is tried is the machine's to say; only a machine
//     that panics, or a fold that cannot be made, is a reason to give bells up. A panic in any part gives up the session:
//     nothing new is begun in it, and what runs may end. A timer's ring has it tried again, once. Failures are counted by
//     lane.
//   - Who asks about a claim is told "busy" when any lane of the session works on it; a lane that meets a claim of this
//     process asks the other lanes first. What is safe never hangs on turns, nudges or the shared fold.
//   - A lane that is fenced, or past its claim's deadline, neither acks nor naks nor extends what it holds: the bells
//     belong to the new owner.
//   - A conflict is looked through for the own event id before anything is decided again: its ack may have been lost.
//
// # Beside an effect
//
// While an effect runs the machine may want to append what leaves the claim alone (machine.Append.Beside): the answer to
// a question that cannot wait for the effect's end. The owner of the claim appends it when its news asks for it, and asks
// again until the machine wants the effect, or something else. What finds no room or no server is tried again at each
// sign of progress, and after the effect; meanwhile the machine is asked as if it were stored, so that the effect goes on
// and its outcome is appended only if it would be wanted then, too. Any other worker appends it as it does everything,
// and then meets the claim. It is stored once because the journal decides by compare-and-set. Such an event never makes
// a claim Mine; a machine that asks for a claim beside a claim panics.
//
// # When it dies
//
//	before the claim is stored        the bell comes again; nothing happened
//	claim stored, effect not done     the bell comes again; the owner does not answer; the machine decides (take over, unknown)
//	effect done, outcome not stored   the same; what a repeat may do is the machine's rule, not the shell's
//	outcome stored, bell not acked    the bell comes again; the fold has no step; ack
//
// # When it is asked to stop
//
// Bells that have arrived are still looked at. What needs no new claim is done; what does is nak'ed for somebody else to
// take at once. Effects may go on for Options.Drain, then they are cancelled, and what they have brought is stored if that
// takes no longer than a second.
//
// # What a claim's owner is asked
//
// Whoever meets another's claim naks the bell; when it comes again it asks worker.<service>.<instance> about the session
// and the claim, not the part. Busy: nak, also past the claim's deadline, which was written by another clock: who lives and
// works on it is never taken over. Free, or nobody there twice a second apart: take over, on a fold read up to the journal's
// last event. Silence proves nothing before the owner has said nothing for AckWait·2^attempt, as the asker's monotonic clock
// counts, or for AckWait once the claim is that old or its deadline has passed; absence nothing within 4 s of the asker's own
// reconnect, as everybody else has lost the bus too.
package actor
