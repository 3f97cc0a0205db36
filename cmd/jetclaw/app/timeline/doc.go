// Package timeline explains one session: what came in, which turn answered it with which model calls and tool calls, what people
// decided, what became of what was said, how long each of it took, and what the session waits for now.
//
// It is pure. Build makes a Timeline of the session's events and of what today's machines want; Text and Mermaid show it.
//
//	message ─► turn ─► round (a model call) ─► call ─► approval ─► delivery (of the question)
//	               └─► delivery (of the answer)
//
// # Promises
//
//   - Every event is in the Timeline exactly once, under what it belongs to, also one that is written by a newer jetclaw. What
//     belongs to nothing stands by itself, in the order of the journal.
//   - A group (turn, round, call, …) stands where its first event would stand.
//   - A hole in the session's chain is shown at its place, unless a tombstone explains it.
//   - What is open is said by the folds of the machines themselves, so that it cannot differ from what they do.
//   - Texts are as people, models and tools have written them, in one line and cut: whoever shows them makes them harmless.
package timeline
