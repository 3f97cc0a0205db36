// Package turn is the turn machine: what one session's messages, commands, model calls and tool calls add up to, and what
// is to be done next. It is pure: Apply folds one event, Next decides. What a model is shown is made of State elsewhere.
//
//	                        started              stepped{calls}
//	          nothing ──────────────────▶ calling ──────────────▶ waiting
//	          │  ▲  ▲                     │ ▲  │ ▲                 │ │
//	          │  │  └─────────────────────┘ │  │ └─────────────────┘ │
//	          │  │    completed · failed    │  │   continued         │
//	          │  └──────────────────────────┼──┼─────────────────────┘
//	started * │                   continued │  │   cancelled · failed
//	          ▼                             │  ▼ overflowed, then started *
//	          compacting                    compacting, within the turn
//
//	calling      resumed (attempt+1) leads back to it; so do overflowed and continued (round+1) when there is no past
//	compacting   started * (attempt+1) leads back to it; session.compacted and compaction.failed end it (* compaction.started)
//
// A compaction begins when a command asks for it, when the history has grown, or within a turn whose request was too long
// for the model. One that nobody asked for gives way to a message (unless messages have kept it waiting for too long) and
// to new. The third overflow of a turn fails it.
//
// Calling and compacting are claims: a model call that one worker has announced, with a deadline, and that another takes
// over when its owner is gone. Waiting holds nobody.
//
// # What people send
//
//   - Messages, and the commands new and compact, stand in the inbox and are taken in their order; new ends the turn before it
//     if that waited for nothing but people when it came. The queue mode says what
//     a message does while a turn runs; none jumps over a command. More messages than may wait are cancelled. The one that
//     comes next when nothing runs does not count as waiting.
//   - A stop binds to what is there at its own cursor: the turn, the messages, a compaction outside of a turn. A second
//     one that comes before it was carried out widens it, and is told so.
//   - The other commands are orders. They are answered at once, beside whatever runs, before anything else is done.
//
// What a program outside has said to the person in the agent's name (notice.posted with By, no question for a permission) is no
// message: it starts nothing and waits for no answer. The next call that is claimed is shown it, in its place among the messages,
// and it is a part of that turn from then on; a new beginning drops what no call was shown.
//
// Next looks at orders, stop, full queue, turn, compaction, inbox, in this order.
//
// # A program outside
//
// Where the rules say that the agent is a client, sessions choose neither model nor queue mode, and what they have chosen before does
// not hold: each message is a turn of its own, in their order.
//
// # A fork
//
// A session may begin with session.forked: the past of another one, which is folded as if it had happened here. What was under
// way there is settled: the model call is made again as the turn's next round, calls without a result have failed, a
// compaction, a stop and orders are no more. A message without an answer is answered here, for real. What is paid is counted
// anew, and results cannot be read on, as their events are in the other session.
//
// # Invariants, for every order of events
//
//   - The inbox is in arrival order; only an outcome that lists a message, or the answer to a command, takes it out, so
//     each is answered once.
//   - A claim is open from the event that makes it to the outcome that names its turn, round and attempt, or its
//     compaction and attempt. Other outcomes are dropped: they come from somebody who was taken over. At most one is open.
//   - A step beside leaves the open claim alone. Every other append ends it, or takes it over, and tells its owner.
//   - A running compaction's last turn is part of the past. One that fails leaves the history as it is, and is due by itself
//     again when there is a quarter more.
//   - A tool call and its result are one value (Call), so neither can be shown to a model without the other. All calls of
//     finished turns have results.
//   - A call that failed says so; in the second step in which the same one fails (tool and arguments) the model is told, in
//     the third the turn ends. What a call waits for is kept for people only: nothing is decided by it.
//   - What a message has beside its text (files, a quote, who has written it first) stays with it, as references: no bytes of a
//     file are ever part of State.
//   - A result is shown up to maxResult bytes. The cursor of its event leads to the rest.
//   - Apply never writes through to the State it was called on: folds branch (an optimistic one may lose its
//     compare-and-set), and old ones stay valid.
//   - State is bounded but for its inbox, its orders and its running turn: finished turns are kept up to Kept bytes, ids of
//     facts up to remembered.
//   - Rules may change between two events, as they are no part of the fold: no event means something else for it.
//
// # Liveness
//
// With no fault left, and tools that answer, Next comes to nil after a number of steps that is bounded by what was sent:
// rounds, attempts, overflows and compactions are counted, a wait ends with the clock, and every step that answers takes
// something out of inbox, orders or stop. Nil means that no turn or compaction runs and nothing waits, or that the turn
// waits for open calls.
package turn
