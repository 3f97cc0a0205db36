// Command loadtest measures jetclaw from outside and tries to break it. A scenario is one command:
//
//	go run ./loadtest turn       what a plain turn costs, beside the floor of the same machine; with --history in sessions
//	                             that have a past, with --dormant beside many that sleep
//	go run ./loadtest tool       what a turn with a tool call costs, beside the floor; what thousands of approvals cost that wait
//	                             for a person; whether one of a thousand simultaneous answers to one of them wins
//	go run ./loadtest start      start, idle memory, short commands, memory after many turns
//	go run ./loadtest kill       SIGKILL at random instants while clients keep sending: what is lost, doubled, stuck? With
//	                             --mix all also during stops, steering, interruptions, fallbacks and compactions; with
//	                             --mix tools during tool calls
//	go run ./loadtest power      the same with the power of the disk cut: what was not synced is gone (Linux, root, /dev/fuse)
//	go run ./loadtest clock      the clocks of two processes are stepped an hour forth and back under load
//	go run ./loadtest telegram   many chats of a fake Telegram that fails, and SIGKILLs: is each message answered once, in order, whole,
//	                             within the limits? With --rate how fast waiting updates come in, beside the floor
//	go run ./loadtest replay     how fast a big journal is folded, checked and indexed again, beside the floor; how long the
//	                             tools of an operator take on it
//	go run ./loadtest mcp        what a call of an MCP server's tool costs, beside a bare call of the protocol's SDK; what servers cost that
//	                             nobody uses, and dead ones; what looking at them costs
//	go run ./loadtest bridge     what MCP clients of jetclaw get (jetclaw mcp serve): calls and waiting for events, beside a bare server of the
//	                             SDK; its start and memory, with many sessions and with clients that read nothing; whether a client
//	                             is told everything, once and in order, after the daemon was killed
//	go run ./loadtest cluster    three NATS servers and every service a process of its own: turns a second by workers and copies, fail-over
//	go run ./loadtest chaos      three NATS servers, two processes of every service, and whatever can go wrong with processes and networks:
//	                             is anything lost, doubled, out of order, executed twice or stuck?
//	go run ./loadtest soak       steady work of all kinds for long: does memory, disk, or anything else grow without end? By the slope
//	                             after the warm-up
//	go run ./loadtest sizes      what sessions cost that lie on the disk: memory, disk, the next start; beside a bare server
//	go run ./loadtest report     all figures of the design's table and a paper of what sessions cost, into loadtest/RESULTS.md
//	go run ./loadtest prober     writes to a running jetclaw for ever, waits, reads and checks; serves what it finds as metrics
//	go run ./loadtest fakemodel  a server for OpenAI's and Anthropic's clients that repeats what it is told
//
// Every scenario builds cmd/jetclaw, runs it on temporary homes with a fake model, talks to it over HTTP and its bus on loopback only, and
// judges by what it sees there and by the journal that a stopped daemon leaves. It imports no service.
// It ends by itself; it exits 1 when a promise was broken, 2 when it was called wrongly.
//
// # Where things are
//
//	scenario/   a package for each scenario, or for those that share a run: turn has turn and tool, kill has kill, power and clock
//	bench/      what a scenario stands on: a directory, a built jetclaw, flags and the result (bench, bench/console); what all runs
//	            share that are to break something (bench/trial); the check of the journal that is left (bench/recheck); what this
//	            program is when it starts itself (bench/child); a daemon to test scenarios with (bench/standin)
//	user/       who uses jetclaw: one client over HTTP, closed loops of turns (exchange), crowds with roles (crowd), people in
//	            Telegram's chats (people), MCP clients (caller), those who are asked (approval), and the words by which they know
//	            their messages again (marker)
//	fake/       third parties: models, MCP servers, Telegram, a receiver of pushes
//	fault/      what goes wrong: networks (wire), disks (disk; powerfs is its file system, a module of its own), clocks
//	product/    jetclaw itself, as a process (daemon) or many (cluster), and the journal that it leaves (store)
//	judge/      what was promised, held against what went in, what came out, and the journal; judge/chat for chats
//	figure/     floors, when a measurement counts (window), statistics (stat), and the result and its page (result)
//	peers/      other people's MCP and Telegram clients, for the tests of the product that .ci/run names
//
// A new scenario is a package in scenario/ with a Command, which has a line in commands, in usage and above. It reads its flags
// (console.Parse, bench.AddFlags) and hands what it does to the one of these that fits, which makes the bench and tells the report:
// bench.Measured, where figures have goals; trial.Try, where something is to be broken; bench.Shown, where there is neither. Its report
// has exported fields, which are the detail of the JSON result, and Print and Fill for people and for figures. No scenario imports
// another (but report makes its paper of the figures of sizes): what two of them need goes to one of the other folders. One that can be
// tested without the product has standin.Main as its TestMain. Floors, the fake MCP server and the steps of report are this program
// again: see run and child.Serve.
package main
