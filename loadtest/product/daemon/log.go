package daemon

// LogTail is the end of a daemon's log, for an error.
func LogTail(path string) string { return "the end of " + path + ":\n" + Tail(path, 3000) }
