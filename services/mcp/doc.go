// Package mcp carries out calls of the tools that configured MCP servers have: for each server an executor "mcp-<name>" with a
// consumer of its own, so that a server which is slow, broken or hostile hurts no other.
//
// What it promises:
//
//   - A server is started on its first need (its tools are not known yet, or one is called) and ended when nobody has needed it
//     for a while, with all that it has started. Nothing of it outlives the service; what a killed one leaves is ended at the
//     next start.
//   - Its tools stand in the catalogue under the names server__tool, as the definition filters and levels them; the gate decides
//     about each call as about any other, and this package checks once more. Their results are untrusted.
//   - A call is carried out at most once, unless the server says that it may be repeated.
//   - A server may ask people something only in the middle of a call, if it is configured to (elicitation): through the approvals
//     service, as call.asked. It is sent what an approver has signed for that very question, or told that nobody has answered.
//   - A server that fails three times in a row is paused (package server): its consumer delivers nothing, calls that were handed
//     to it meanwhile are answered, and the gate answers new ones. That outlives all processes.
//   - A change of the configuration is taken up while it runs; only servers that are reached in another way connect anew.
//
// # Parts
//
//	definition   what the operator writes        catalogue  what of a server becomes tools
//	server       the machine of its health       upstream.go, pool.go, link.go, program.go  a server and its connections, here
//	elicit.go    questions of servers to people
//	bells.go     calls of all executors, to one actor (bus/actor) with the machine services/internal/execution
//	internal/    launch: processes · client: the protocol · content: results as text · oauth: credentials
//
// # When it dies
//
//	it dies                           the journal has    what follows
//	before the claim                  call.dispatched    the doorbell comes again; nothing happened
//	after the claim, before the       call.started       the owner does not answer: tools that only read, or may be repeated,
//	outcome is stored                                    are asked again; of the others the outcome is unknown
//	while a person is asked           call.asked         the question is withdrawn with its claim; who repeats the call asks anew
//	after a failure, before it is     –                  the failure is not counted
//	told in SYS
//	after the pause is told, before   sys…paused         whoever starts next, and each process within a second, brings
//	the consumer is paused                               consumer and catalogue in line with it
//
// If the server dies in the middle of a call the outcome is unknown, too; one that may be repeated is sent once more.
package mcp
