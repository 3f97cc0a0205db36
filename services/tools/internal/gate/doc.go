// Package gate decides who may run what: it is the judge of the tools service (call.Judge).
//
// A verdict is a function of the question, the catalogues, the configuration and the files that the call names. The steps, in
// their order; the first that denies ends it, and Verdict.Rule has the name of the step that decided:
//
//	unknown tool     nobody offers it, or two executors do
//	tools.deny/allow what the agent may use at all: every tool unless it says which, and for a program outside none
//	arguments        canonical JSON (no key twice), and the tool's own JSON Schema
//	policy.deny[i]   the operator's rules that deny
//	level            a level that is none of L0 to L3
//	secret           a secret of this installation stands in the arguments, in whatever form
//	files            what would be written cannot be bound to the decision
//	policy.ask[i], secret-like, trifecta, shell, level L2, level L3: each of these asks
//	policy.allow[i]  lifts level L2, nothing else
//	always           an earlier decision of a person lifts level L2 and policy.ask, nothing else
//	level L0, L1     runs
//
// So deny beats ask beats allow, L3 never runs without a question, and more taint or more rules that deny never make a call
// run that did not. Whatever cannot be understood (a shell command that does not parse, a file that cannot be read, a schema
// that is none) is denied or asked about, never let through. Of a schema that uses what cannot be checked here (a lookahead, a
// reference to an address, one that leads back to itself) the outline is: types, names, what is required, bounds. No rule relies
// on a schema, and who publishes one checks its arguments again.
//
// # Shell commands
//
// Of a tool that has a Shell argument, rules look at parts: each simple command, in lists, pipes, substitutions, functions
// and here-documents, and those that other commands run (env, sudo, xargs, sh -c, find -exec, …). An assignment ("PATH=/x") and a redirection
// to a file ("> out.txt") are parts of their own. A rule that denies or asks holds when it matches any part; also by the
// command's name without its folder, and an expansion that could become a match asks. Rules that allow have to match every part as it
// stands: `*` alone covers an expansion, and a command whose name is known only when it runs is never allowed. Two
// interpreters may read one text differently, so it is read as bash and as sh, and both have to be allowed.
//
// A glob over commands is a seat belt and no sandbox: programs have options that run others, and nobody lists them all.
// That is why exec is L3.
//
// # Prompt files and private ones
//
// Whoever writes AGENTS.md, SOUL.md, USER.md, TOOLS.md, MEMORY.md or a skill writes the prompt: the call is L2 at least,
// also through a link. When USER.md or MEMORY.md say anything beyond their templates, every prompt of the agent holds
// private data, and the trifecta needs only untrusted text to be complete.
package gate
