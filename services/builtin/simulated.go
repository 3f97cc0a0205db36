package builtin

import (
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/services/internal/execution"
	"github.com/jetclaw/jetclaw/services/internal/simulated"
)

// Simulated is the executor's machine with run in the place of its tools.
func Simulated(run simulated.Run) actor.Machine[execution.State] {
	return simulated.Machine(Executor, calls().Apply, recorded{Attempts: attempts, Grace: grace}.rules(), run)
}
