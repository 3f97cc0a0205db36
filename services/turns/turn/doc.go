// Package turn is the turn machine: what one session's messages, model calls and tool calls add up to, and what is to be
// done next. It is pure: Apply folds one event, Next decides, Prompt says what the next model call shows.
//
//	            message            stepped{calls}
//	(nothing) ---------> calling ------------------> waiting
//	    ^       started   |  ^ ^                       |  |
//	    |                 |  | '-- resumed (attempt+1) |  |
//	    |                 |  '---- continued (round+1)-'  |
//	    '-----------------'<------------------------------'
//	     completed · failed · cancelled
//
// Invariants, for every order of events:
//
//   - The inbox is in arrival order; only an outcome that lists a message takes it out, so each is answered once.
//   - A claim is open from started, continued or resumed to the outcome that names its turn, round and attempt. Other
//     outcomes are dropped: they come from somebody who was taken over.
//   - A tool call and its result are one value (Call), so neither can be shown to a model without the other.
//   - A stop binds to the turn that runs at its own cursor, in a model call or waiting for calls; else to nothing.
//   - Apply never writes through to the State it was called on: folds branch (an optimistic one may lose its
//     compare-and-set), and old ones stay valid.
//   - State is bounded but for its inbox and its running turn: finished turns are kept up to Kept bytes, ids of facts
//     up to remembered.
package turn
