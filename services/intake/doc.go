// Package intake takes in what people and programs write, and tells them what became of it.
//
// It promises:
//   - One gate for every way in (thread.Admit): HTTP, terminal, other clients. What passes is a message.received,
//     message.edited or control.requested; what does not is a message.refused with the reason, and the sender is told.
//   - A receipt means that the event is in the journal. The same source key in the same session gets the same receipt
//     for as long as the session lives, across restarts and processes.
//   - The reply to any message or command can be asked for at any time; whoever waits is told at once when it ends: a
//     message with its turn, a command when it was done and an event says so. A stop is then completed, and the messages
//     that it took out of the session are cancelled. What a deleted session had is not found.
//   - At 90 % of the journal's MaxBytes new messages and commands are refused (fault.Full), so that running turns have the
//     rest. Stop and new are always taken where there is a session.
//
// # Ways in
//
//	svc.intake.submit   Request → Receipt        terminal, commands, MCP clients: from.id is "local"
//	svc.intake.control  Request{Verb, Argument} → Receipt
//	svc.intake.reply    ReplyRequest → Reply
//	HTTP                see internal/httpapi
//
// # A message
//
//	        key given?
//	 no ┌───────┴───────┐ yes
//	    │               │
//	AppendFact       fold: key known? ── yes ──► the first receipt
//	(guesses prev,      │ no
//	 takes the right    Append at the fold's cursor ── conflict ──► fold again
//	 one from the       │
//	 refusal)           │
//	    └───────┬───────┘
//	         receipt
//
// A key that was made here cannot repeat, so its message is appended without reading anything. A caller's key may come
// again at any time, through any process: only a compare-and-set at the cursor of a fold that does not know it proves
// that it is new.
//
// # A reply
//
// A waiter is registered first, then looks. For a message that this process appended a moment ago the board (board.go)
// knows the outcome, or that there is none yet, without a read; for all others the fold says it. News of what ended
// comes from a lossy watch; a waiter looks into the journal every two seconds itself.
//
// # What happens when it dies
//
//   - Before the append: nothing was taken, and the client has no receipt. It sends again.
//   - Between the append and the receipt: the message will be answered. With a key of its own the client sends again and
//     gets the receipt; without one it would send a second message, which it cannot avoid.
//   - After the receipt: nothing is lost. Waiters ask again, at this process or another.
//   - The snapshot of a fold is late or lost: the fold walks the journal instead.
//
// Nothing else is kept: there is no queue here, and no timer.
package intake
