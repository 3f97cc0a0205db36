package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// markName is the variable that all processes of all servers have, unless they change their environment.
const markName = "JETCLAW_MCP"

// starts tells the connections of this process apart: the end of one must not end another of the same server.
var starts atomic.Uint64

// newMark is the value of markName for one start.
func newMark(home, server string) string {
	server = strings.ReplaceAll(server, "\x00", "")
	return homeMark(home) + owner() + "/" + strconv.FormatUint(starts.Add(1), 10) + "/" + server
}

// homeMark begins all marks of one home.
func homeMark(home string) string {
	if abs, err := filepath.Abs(home); err == nil {
		home = abs
	}
	if target, err := filepath.EvalSymlinks(home); err == nil {
		home = target
	}
	sum := sha256.Sum256([]byte(home))
	return hex.EncodeToString(sum[:8]) + "/"
}

// StartedBy says whether a process with these variables was started as, or by, a server of the jetclaw of a home.
func StartedBy(home string, environ []string) bool {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, markName+"="); ok && strings.HasPrefix(value, homeMark(home)) {
			return true
		}
	}
	return false
}
