package mcp

import (
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/services/internal/execution"
	"github.com/jetclaw/jetclaw/services/internal/simulated"
)

// Simulated is the machine of the executors with run in the place of their servers.
func Simulated(run simulated.Run) actor.Machine[execution.State] {
	return simulated.Machine(Name, Calls().Apply, recorded{Attempts: attempts, Grace: grace}.rules(), run)
}
