// Package intake takes in what people and programs write, and tells them what became of it.
//
// It promises:
//   - One gate for every way in (thread.Admit): HTTP, terminal, other clients. What passes is a message.received,
//     message.edited, control.requested, decision.submitted or permission.answered; what does not is a message.refused with the reason, and the
//     sender is told.
//   - A receipt means that the event is in the journal. The same source key in the same session gets the same receipt
//     for as long as the session lives, across restarts and processes.
//   - The reply to any message or command can be asked for at any time; whoever waits is told at once when it ends: a
//     message with its turn, a command when it was done and an event says so. A stop is then completed, and the messages
//     that it took out of the session are cancelled. What a deleted session had is not found.
//   - Whoever waits for an answer learns at once that a person has to decide first, and of what.
//   - At 90 % of the journal's MaxBytes new messages and commands are refused (fault.Full), so that running turns have the
//     rest. Stop and new are always taken where there is a session, and decisions where the running turn waits for one.
//
// # Ways in
//
//	svc.intake.submit   Request → Receipt        terminal, commands, MCP clients: from.id is "local"
//	svc.intake.control  Request{Verb, Argument} → Receipt
//	                    verbs approve and deny become a decision
//	svc.intake.reply    ReplyRequest → Reply
//	HTTP                see internal/httpapi
//	Telegram            see internal/telegram: polls or a webhook; an update is confirmed when it is in the journal
//
// Who may write by Telegram is decided by package access, a machine of its own: the events of accessv1 in one session of the
// house say who was let in. The person at the home's keys asks and answers there:
//
//	svc.intake.pairing-list, -approve, -revoke   who wants in, who is in
//	svc.intake.channels                          how the bots do
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
// # A decision
//
// "/approve [ID] [always]" and "/deny [ID] [reason…]", as a text or as a verb with its argument, answer an approval; without
// an id the only one that is open in the session. Intake proves who decides (From, by the channel) and writes it down as
// decision.submitted. Whether that person may, whether it is the first answer and whether it comes in time is for the
// approvals service, which ends it: approval.decided names the decision that counts, a notice answers the others. Its reply
// is then completed, with what the person is told; Reply.Decision says that it is this one that counts.
//
// # A permission
//
// A program outside asks by a notice with a permission (noticev1.Permission). A message that is "yes ID" or "no ID" and nothing else,
// of an owner, in the session of the question, while it is open, is no message to the agent: it becomes permission.answered, which
// closes the question and rings nobody. The first answer counts. Whoever wrote it learns it from the reply, which is completed at
// once; in Telegram from a reaction, once and lossy. From everybody else, and to a question that nobody waits for, it is a message
// like any other. Only the fold knows what is open, so a text of this form is always appended behind it.
//
// # A reply that waits for a person
//
// While a call of its turn waits for an approval, the reply to each message of the turn is awaiting_approval, with all that
// is asked. It ends the waiting of a question, too, as whoever asks may be the one who has to decide. Who knows that already
// asks with until=answer: that waits for the answer, and says awaiting_approval only when the time is over. In both cases a
// question whose last approval is settled is pending again, until the turn ends.
//
//	asked with wait, until=      an approval is requested      the turn ends      the time is over
//	(nothing)                    awaiting_approval, at once    its outcome        pending
//	answer                       goes on waiting               its outcome        pending or awaiting_approval
//
// News of approval.requested reaches all who wait in its session: each looks into the journal whether its message is one of
// the turn's.
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
