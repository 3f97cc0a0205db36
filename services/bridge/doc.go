// Package bridge is an MCP server: through it other MCP clients (Claude Code, Codex, Cursor…) take part in jetclaw's conversations.
// It runs in a process of its own, `jetclaw mcp serve`, one a client over stdio or one for many over HTTP, and reaches jetclaw by the
// bus as the user "bridge".
//
// It promises:
//
//   - A cursor is a place in the journal. Whoever goes on from a cursor that it was given misses nothing and is told nothing twice,
//     whatever was restarted meanwhile; events are in the journal's order. What retention or a person has removed shows as a gap.
//   - A poll has all that was stored before it was asked for.
//   - It appends nothing. Sending goes through the outbox (svc.outbox.send), deciding through approvals (svc.approvals.decide), where
//     the first answer counts; both may be asked again after a lost answer, so that a restart doubles nothing.
//   - It can only answer where a conversation takes place: it names sessions, never addresses.
//   - No program outside allows its own calls: approvals of calls that came in by this door (--tools) are not to be had here.
//
// # Parts
//
//	line      the connection: at most one, with times between; calls wait for it, at most Config.Patience
//	reader    follows the journal, once for all clients; it outlives connections
//	ring      its memory: the last events, bounded; what is older is read from the journal (past)
//	event/    the pure translation of the journal's events
//	push      reads on from a cursor of its own for those who are told without asking: resource subscriptions, Claude's channel
//	client    serves the tools of an agent instead (--tools), clientcall carries their calls out: see below
//	http      the one way in over HTTP, with lives, the sessions there; internal/stdio the transport over stdin and stdout
//	tools     the table of the tools; schema and arguments what they take, say how a result is written
//
//	journal ──Follow──► reader ──► ring ◄── events_poll, events_wait, push      memory, woken by one close of a channel
//	   ▲                                         │ older than the ring
//	   └────────────────Replay───────────────────┘
//
// Nothing is queued for a client. Who waits holds a cursor and a channel that is closed at the next event; who does not read blocks
// its own stream, and its deadline or the end of its pipe ends it.
//
// # Tools of an agent
//
// With Config.Agent it offers the tools of that agent, which stands for the client and has its own policy. A call is a message in a
// session of the agent, "!tool NAME {json}", and the agent's model asks for exactly that call: gate, approvals, executors, taints and
// journal are those of every agent. Calls of one MCP session run one after the other. One that the client withdraws is stopped, and so is
// one of which it is not known whether it was begun; where that cannot be done at once it is owed, and done before the next call.
//
// # When it dies
//
//	the bridge      its client starts another, and goes on from the cursor that it had; a call of --tools goes on without it, and
//	                its result is in the journal
//	jetclaw         calls wait for the next one, and are then asked again; a wait for events waits on
//	the client      its waits end with its stream; nothing is kept for it
package bridge
