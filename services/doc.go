// Package services is the map of the house. Each folder is one service: it owns its events (nobody else may append them;
// the bus's permissions see to that), reads everybody's, and imports no other service.
//
//	intake   lets people's messages in: one gate for every channel      message.* control.*
//	turns    answers them with a model, one turn at a time a session    turn.* session.* compaction.* notice.posted.turns
//	outbox   brings answers and notices back to the channels            delivery.*
//
// All have one shape: doc.go (what it promises, and what happens when it dies at each step), <noun>/ (the pure machine:
// Apply folds an event, Next decides), service.go (Spec, New, Run, Ready), perform.go (the effects), internal/ (adapters
// to the world outside). The shell around the machines is bus/actor.
package services
