package main

import "github.com/jetclaw/jetclaw/loadtest/daemon"

// logTail is the end of a daemon's log, for an error.
func logTail(path string) string { return "the end of " + path + ":\n" + daemon.Tail(path, 3000) }
