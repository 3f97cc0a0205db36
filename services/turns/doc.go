// Package turns answers people: it takes each message that was let in, calls a model, and appends what came of it.
//
// The decisions are the pure machine's (package turn); the shell (bus/actor) loads, appends and acks; what is here are the
// effects, model calls: of turns (perform.go) and of compactions (compact.go).
//
//	message.received ──▶ turn.started ──▶ model ──▶ turn.completed        the answer
//	                                        │  └──▶ turn.failed           why there is none; always told to the person
//	                                        ├─────▶ turn.stepped{calls} ──▶ (tools) ──▶ turn.continued ──▶ model …
//	                                        └─────▶ turn.overflowed ──▶ (shortened) ──▶ turn.continued ──▶ model …
//	control.requested{stop} ──────────────────────▶ turn.cancelled
//	control.requested{new} ───────────────────────▶ session.reset
//	control.requested{model, queue, status, help} ▶ session.configured, notice.posted.turns
//	finished turns, enough of them ──▶ compaction.started ──▶ model ──▶ session.compacted | compaction.failed
//
// Where to change what:
//
//	turn/                what happens next: the pure machine, queue modes, budgets of a turn, answers to commands
//	prompt/              what a model is shown: the pure builder, its budgets, fences, and the repair of what providers refuse
//	model/               request, answer and error; the calls of an answer
//	offer/               which tools a model is offered, and their names and schemas as its provider takes them
//	price/, ledger/      what it costs, what was used
//	agent.go             personas: from configuration to rules
//	client.go            agents that are programs outside
//	catalog.go           models by reference
//	album.go, vision.go  pictures: loaded just before a call; which models can see
//	shelf.go, dialect.go the catalogue of tools; what a model's provider understands
//	internal/router      which model is asked: fallbacks, and models on hold
//	internal/openai, internal/anthropic, internal/provider, internal/offline    the adapters
//	internal/relay       what stands in for the model of a program outside
//	internal/workspace   files and skills of an agent
//	internal/daily       budgets of the day
//
// It promises:
//
//   - Every message gets exactly one of turn.completed, turn.failed and turn.cancelled; those that are answered, in the
//     order of arrival.
//   - One model call at a time in a session, however many workers there are.
//   - Whatever a model does (garbage, half an answer, an HTTP error, nothing at all) ends the turn with a text that says
//     what happened and what to do, and lets the next message go on.
//   - A fallback is asked only when nothing of an answer has been used; it answers for that turn alone.
//   - A summary replaces turns in what a model is shown, never in the journal; one that fails changes nothing.
//   - While tool calls are open nothing is held in memory: the calls' own doorbells wake the session.
//   - A model is offered the tools of the catalogue that its agent may have, read at most a second ago or as they were last
//     known. turn.stepped has their own names; only the model's copy is made to suit its provider. read_skill is answered here,
//     whatever executors publish under that name.
//   - Pictures are references until the call that shows them. One that cannot be loaded, or that the provider refuses, is a line
//     that says so; none of them fails a turn, and no summary holds one.
//   - The same call that fails in three steps of a turn ends it.
//   - A client agent is a program outside. Each of its messages is one tool call, in a turn of its own, in their order, and the
//     answer is the result to the letter. It is offered what it may use by name, nothing unless that is configured; its calls take the way
//     of all others, and no model is ever asked about them, whatever its session or a person chooses. In the channel of such programs
//     a message to another agent fails at once.
//   - The text of a running answer is on live.<session> as Delta, lossy.
//   - A fork (svc.turns.fork) is one event, the first of a new session in the terminal, which has the past of another one in
//     it; that one is only read. It goes on by itself with what was open. Nothing that a person had allowed there is allowed in it.
//   - A rerun (svc.turns.rerun) asks a model for a turn once more, in memory: no tool runs, nothing is appended, nobody sees it.
//     It is refused when the budget of the day is used up, and what it uses is in no account.
//
// What happens when it dies:
//
//	before turn.started        the message's doorbell comes again
//	during a model call        a worker asks for the owner, and appends turn.resumed{attempt+1}: the call is made again, with
//	                           the models that are not on hold. Deltas of the lost attempt were perhaps seen; the new
//	                           attempt begins the text again
//	after the model's answer,  the same: the answer is lost and asked for again (it may differ); nobody has seen it as
//	before it is appended      an answer
//	after turn.completed       the doorbell comes again, nothing is left to do, it is acked
//	during a compaction        compaction.started{attempt+1}; after three, compaction.failed and the history is as it was
//	six times in one call      turn.failed{exhausted}: the person is told, the session goes on
//
// A worker that was taken over and lives on loses its next append; its outcome names an attempt that is no longer open.
package turns
