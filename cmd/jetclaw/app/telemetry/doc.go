// Package telemetry is what a process of jetclaw tells about itself: metrics for Prometheus, and spans for a collector of
// OpenTelemetry. names.go is the one list of all names.
//
// # Where it comes from
//
// No service makes metrics or spans. The shell does, through the hooks of a connection (bus.Hooks): an event was appended, a bell
// has rung, an effect has begun and ended. What an event says (turns, calls, approvals, deliveries, money) is counted by the process
// that has appended it, so that the sum over all processes counts each event once. Model calls and requests to MCP servers are told by
// who makes them, through turns.Observer and mcp.Observer. How far consumers are, and how full the journal is, NATS is
// asked when somebody reads the metrics, at most every five seconds, for two seconds at most; each process asks about its own consumers
// only, as its users may no more. Replay, simulation and tests set no hooks: they are silent.
//
// # Labels
//
// A label has few values, none of which a person, a model or a foreign server has written: services, kinds of events, outcomes,
// executors and models that the configuration names. Whatever else comes is "other", as is what comes after the first 500 series of a
// metric.
//
// # Spans
//
//	caller ─► append message.received ─► append turn.started ─► invoke_agent ─► chat
//	                                                                 └─► append turn.stepped ─► append call.dispatched ─► …
//	… append call.started ─► execute_tool ─► tools/call (an MCP server, told by _meta.traceparent)
//	                               └─► append call.completed ─► append turn.continued ─► invoke_agent ─► …
//
// Each event that is appended is a span, and carries the traceparent of it through the journal: what it leads to, in
// whatever process, is its child. Each effect is a span between its claim and its outcome. A span has the session and the
// cursor of its event, and no text of anybody.
//
// What has waited is linked, and no child: a span that is still open after days, or a trace that never ends, helps nobody. So a
// bell that is delivered again, or whose event is older than bus.AckWait, begins a new trace with a link (jetclaw.link = redelivery) to
// the old one: after a crash, a queue, a nak. A timer begins a new trace. And whatever event follows in its session on one of
// another trace is linked to that (jetclaw.link = session): a person's answer to the question. A new message is not.
//
// Servers of models are told of no trace: most belong to somebody else.
package telemetry
