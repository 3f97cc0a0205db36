// Package stdio is the server's end of MCP's stdio transport: one JSON-RPC message a line, from the client on stdin, to it on
// stdout. The SDK's own ends a session at the first line that is no JSON, knows no notifications but MCP's, and has no bounds;
// this one answers such a line and reads on, passes notifications of any method both ways, and holds no more than it has to.
//
//	In ──lines──▶ reader ──unbuffered──▶ Connection.Read (SDK)        Connection.Write (SDK), Notify
//	                │ takes custom notifications                                │
//	                └──── refusals ──────────────unbuffered──────────────▶ writer ──one Write a message──▶ Out
//
// # Order
//
// Messages reach the SDK and Options.OnNotification in the order of their lines. What one goroutine writes leaves in its order;
// there is one writer, so no message is inside another. Write and Notify return when the message was handed to Out.
//
// # Bounds
//
// Nothing is queued between the parts: whoever has something to pass on waits until it is taken. A client that does not read
// stops the writer, then those who have an answer for it, and, when MaxInFlight requests are unanswered, the reader, which has to
// tell it that the server is busy. What a client can make us hold is therefore
//
//   - MaxInFlight requests, of 8·MaxLine bytes in all, and one answer to each;
//   - two lines of MaxLine, one that is read and one that is handed on; what is longer is skipped as it comes;
//   - 64 notifications, or as many as make up 1 MiB. The SDK queues notifications without a bound, and says nothing when it
//     has handled them. So the reader follows them up with a ping of its own, whose answer tells that all before it are
//     done, and reads on only then. That ping (id "jetclaw/sync") is seen by receiving middleware of the server.
//
// Hence a handler of a notification must not wait for something that the client has yet to send.
//
// # Refusals
//
// A line that is no request is answered, never with the id of a request that is still open: it would be taken for its answer.
//
//	-32700  no JSON, or not UTF-8
//	-32600  JSON, but no message; a batch; longer than MaxLine; an id that is in use, or neither a string nor a whole number
//	-32602  params are no object
//	-32029  busy (CodeBusy): MaxInFlight requests are open. The request was not looked at and may be sent again.
//
// A broken response is not answered: two ends that answer each other's errors would never stop.
//
// # How it ends
//
// At the end of stdin what was asked before is still answered, for as long as Options.Linger says. Then both directions end: Read
// returns io.EOF, the SDK cancels what runs, and what the client has not read by then it does not get. An error of In
// or Out ends both directions, and Err says which. So do Close, which the SDK calls, and the end of the context that Connect was
// given, which is the life of the connection, not of the call to Connect. Each closes In and Out, if they can be closed.
//
// Closing os.Stdin does not interrupt a read that waits for a client, nor does closing os.Stdout one that waits for it
// to read: those two goroutines stay until the process ends, and it is the caller who returns from main. The runtime ends
// a process that writes to a stdout nobody reads by SIGPIPE, before Err could tell; a caller that wants to end in order
// ignores that signal (signal.Ignore(syscall.SIGPIPE)).
package stdio
