// Package builtin is the executor of jetclaw's own tools: files and notes of the workspace, documents that
// people send, the web, a shell, the clock.
//
// It publishes them in the catalogue under the name "builtin", with the level, the egress class and the idempotency of
// each; the gate (services/tools) decides which calls come here. It trusts nobody's word for what is dangerous:
//
//   - The arguments are those that the request's digest names, and the tool is the one that was decided about.
//   - What a person has allowed carries a signature of the approvals service over exactly this request, or over the grant
//     that it falls under. A call of level L3, and of L2 unless a rule of the operator allows it, does not run without.
//   - Files are opened inside the workspace, and looked at again once open: links, devices, prompt files.
//
// # When it dies
//
// The machine is services/internal/execution, the shell bus/actor, with a lane for each call.
//
//	it dies                            the journal has    what follows
//	before the claim                   call.dispatched    the doorbell comes again; nothing happened
//	after the claim, before or during  call.started       the owner does not answer: tools that only read are asked again,
//	the call                                              of the others the outcome is unknown, and the model is told
//	after the call, before the outcome call.started       the same
//	is stored
//	after the outcome                  call.completed     nothing
//
// A result is at most tool.MaxText bytes; secrets in it are removed before it is stored.
package builtin
