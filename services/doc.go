// Package services is the map of the house. Each folder is one service: it owns its events (nobody else may append them;
// the bus's permissions see to that), reads everybody's, and imports no other service.
//
//	intake     lets people's messages in: one gate for every channel    message.* control.* decision.* permission.* access.* notice.posted.intake
//	turns      answers them with a model, one turn at a time a session  turn.* session.* compaction.* notice.posted.turns
//	tools      decides about each call that a model asks for            call.dispatched.* call.awaiting call.denied
//	approvals  asks people, and keeps what they have decided            approval.* notice.posted.approvals
//	builtin    carries out calls of jetclaw's own tools                 call.started.builtin call.completed.builtin
//	mcp        carries out calls of configured MCP servers' tools       call.started.* call.completed.* of its executors
//	outbox     brings answers, questions and notices to the channels    delivery.* notice.posted.outbox
//
//	conversations  lists, shows and searches what was said              nothing: it is a read model
//	bridge         is an MCP server for other clients, by itself        nothing: it asks the others
//
// All but the last two have one shape: doc.go (what it promises, and what happens when it dies at each step), <noun>/ (the pure machine:
// Apply folds an event, Next decides), service.go (Spec, New, Run, Ready), perform.go (the effects), internal/ (adapters
// to the world outside). The shell around the machines is bus/actor. What several of them speak to a third party is in
// internal/: botapi is the wire of Telegram's Bot API; httpguard is
// what every HTTP door checks before it does anything.
package services
