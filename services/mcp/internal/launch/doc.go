// Package launch runs MCP servers that are programs: it starts one with three pipes and an environment of its own, gives out its
// messages, and ends it with all that it has started.
//
// # What a child gets
//
// Three descriptors (stdin, stdout, stderr) and no other of this process; a session of its own, so that neither the terminal nor
// its signals reach it; of our environment only what definition.Inherited names, then what its definition sets, without what
// definition.Blocked names. On top of it stands the mark, JETCLAW_MCP=<home>/<owner>/<ordinal>/<server>: a hash of the home, who
// started the program (process id, start time and process id namespace), which start of that process it was, and the
// server's name.
//
// # What comes out of it
//
// Reader gives lines of stdout that are JSON objects, in order, none lost, one at a time: whoever does not read makes the child
// wait. All other lines are dropped, counted, and the first is logged. A line of more than MaxLine ends the stream. stderr is always
// read, whatever it holds: its last lines are kept (Stderr), and some of them logged.
//
// # How it ends
//
//	stdin is closed ── Grace ──▶ SIGTERM ── Grace ──▶ SIGKILL, until nothing is left
//
// Close begins on the left. A program that ends by itself begins at SIGTERM if it leaves others behind: with it
// the connection is lost, and they serve nobody. Signals go to the process group, and on Linux to all else that is in
// the session or has the mark in its environment, wherever it hides. Until all of that is over the program is not waited for, so
// that the number of its group cannot come to mean other processes. What gets away has left the session and has another environment;
// elsewhere than on Linux, what has left the group; on Windows, all but the program.
//
// # What happens when this process dies
//
// The kernel closes the pipes. Most servers end when stdin does; Sweep ends the others at the next start: it
// looks for marks of the same home whose owner is gone. It does so on Linux only.
package launch
