package mcp

import "github.com/jetclaw/jetclaw/services/mcp/internal/launch"

// StartedBy says whether a process with these variables was started as, or by, a server of the jetclaw of a home: on behalf of one of
// its agents.
func StartedBy(home string, environ []string) bool { return launch.StartedBy(home, environ) }
