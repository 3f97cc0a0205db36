// Package client is one session with one MCP server, over stdio, SSE or Streamable HTTP, in both eras of the protocol (up to
// 2025-11-25, and 2026-07-28). It stands between jetclaw and the go-sdk and promises what the SDK does not:
//
//   - Everything ends. Connect, each request and Close have a limit, also where the SDK blocks without one. A request whose context
//     ends returns at once, and the server is told (notifications/cancelled). Progress prolongs a call, up to MaxCall.
//   - Everything has a size: messages, pages, tools, texts, redirects.
//   - A server that breaks the protocol costs an error that says what it did, never the process. Answers that cannot be used (a
//     web page, an HTTP status, something huge) fail one request and leave the session; a connection that is gone fires Done.
//   - Nothing secret is in an error: no headers, no query of a URL, no session id, no arguments.
//   - Only what is configured is offered to the server: elicitation and roots; no sampling.
//
// # Eras
//
// A server of 2026-07-28 answers server/discover. Older ones refuse or ignore it, and some end or hang:
//
//	Connect ── discover ≤ 3 s ── answered ──────────────────────────────── 2026-07-28
//	   │           └─ refused or not answered ── initialize, same process ─ 2025-11-25 or older
//	   │                                             └─ not answered, or gone
//	   └─ Options.Legacy ──────────────────────────── a new process, initialize and nothing before it
//
// The process stays the same at first because a program that is still being downloaded does not answer discover either.
//
// # When it dies
//
// A session has no memory: whoever uses it connects anew after Done, or after ErrClosed. What a call that was under way has done
// is not known.
package client
