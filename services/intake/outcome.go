package intake

import (
	"cmp"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

const cancelledText = "Stopped."

// outcomeOf reads what the event that ended a message or a command says about it: the end of its turn, the answer of the
// command, or its own event when that is a refusal, an edit, or a command that nothing answers.
func outcomeOf(e envelope.Event) outcome {
	switch b := e.Body.(type) {
	case turnv1.Completed:
		return outcome{status: wire.Completed, text: b.Text, cursor: e.Cursor}
	case turnv1.Failed:
		return outcome{status: wire.Failed, text: b.Text, cause: string(b.Cause), cursor: e.Cursor}
	case turnv1.Cancelled:
		return outcome{status: wire.Cancelled, text: cmp.Or(b.Text, cancelledText), cause: string(b.Reason), cursor: e.Cursor}
	case noticev1.Posted:
		return outcome{status: wire.Completed, text: b.Text, cursor: e.Cursor}
	case turnv1.SessionConfigured:
		return outcome{status: wire.Completed, text: b.Text, cursor: e.Cursor}
	case turnv1.SessionCompacted:
		return outcome{status: wire.Completed, text: b.Text, cursor: e.Cursor}
	case turnv1.CompactionFailed:
		return outcome{status: wire.Failed, text: b.Text, cause: string(b.Cause), cursor: e.Cursor}
	case messagev1.Refused:
		return outcome{status: wire.Refused, text: b.Detail, cause: string(b.Reason), cursor: e.Cursor}
	case messagev1.Control:
		asked := string(b.Verb)
		if b.Argument != "" {
			asked += " " + b.Argument
		}
		return outcome{status: wire.Completed, text: "Asked for: " + asked + ".", cursor: e.Cursor}
	case messagev1.Edited:
		return outcome{status: wire.Completed, text: "The edit is taken.", cursor: e.Cursor}
	}
	return outcome{status: wire.Failed, text: "The answer cannot be read by this version of jetclaw.", cursor: e.Cursor}
}

// statusOf is the status of a fold in words for callers.
func statusOf(s thread.Status) wire.Status {
	switch s {
	case thread.Completed, thread.Done:
		return wire.Completed
	case thread.Failed:
		return wire.Failed
	case thread.Cancelled:
		return wire.Cancelled
	case thread.Refused:
		return wire.Refused
	case thread.Pending:
	}
	return wire.Pending
}

// refusal is a refused message as the error that its sender gets.
func refusal(r messagev1.Refused) error {
	if r.Reason == messagev1.TooLarge {
		return fault.New(fault.TooLarge, "%s", r.Detail)
	}
	return fault.New(fault.Invalid, "%s", r.Detail)
}
