package thread

import (
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// End is what became of some of what came in.
type End struct {
	Status Status
	IDs    []string // of messages and commands; may name some that ended before, or that are not known
}

// Ends says what an event ends, and how. Most events end all that they name in one way; a stop takes messages out of the
// session and has thereby done what it was sent for.
func Ends(b envelope.Body) []End {
	switch b := b.(type) {
	case turnv1.Completed:
		return ends(Completed, b.Answers...)
	case turnv1.Failed:
		return ends(Failed, b.Answers...)
	case turnv1.Cancelled:
		all := ends(Cancelled, b.Answers...)
		if stops(b.Reason) {
			all = append(all, answered(b.By)...)
		}
		return all
	case noticev1.Posted:
		if answers(b.Service) {
			return ends(Completed, b.Answers...)
		}
	case approvalv1.Decided:
		if len(b.Answers) > 0 {
			return ends(Completed, b.Answers...)
		}
	case turnv1.SessionReset:
		return answered(b.By)
	case turnv1.SessionConfigured:
		return answered(b.By)
	case turnv1.SessionCompacted:
		return answered(b.By)
	case turnv1.CompactionFailed:
		if b.By != "" {
			return ends(Failed, b.By)
		}
	}
	return nil
}

// answers says that a service's notices answer what came in: those of turns answer commands, those of approvals the
// decisions that decide nothing. Another's notice ends nothing, whatever it says.
func answers(service string) bool { return service == "turns" || service == "approvals" }

// stops says that messages were cancelled by a command. Else it was by a message, which goes on.
func stops(r turnv1.Reason) bool {
	return r == turnv1.Stopped || r == "" // the first events had no reason, as there was no other
}

func ends(status Status, ids ...string) []End { return []End{{Status: status, IDs: ids}} }

// answered ends the command that something was done for; "" when nobody asked for it.
func answered(command string) []End {
	if command == "" {
		return nil
	}
	return ends(Completed, command)
}
