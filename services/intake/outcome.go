package intake

import (
	"cmp"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

// What was done when an event of earlier days does not say it.
const (
	cancelledText = "Stopped."
	resetText     = "A new beginning."
)

// outcomeOf reads what the event that ended a message or a command says about it: the end of its turn, the answer of the
// command or decision, or its own event when that is a refusal or an edit. status is what the event means for it: a stop is completed
// by the event that cancels messages.
func outcomeOf(e envelope.Event, status thread.Status) outcome {
	o := outcome{status: status, cursor: e.Cursor}
	switch b := e.Body.(type) {
	case turnv1.Completed:
		o.text = b.Text
	case turnv1.Failed:
		o.text, o.cause = b.Text, string(b.Cause)
	case turnv1.Cancelled:
		o.text = cmp.Or(b.Text, cancelledText)
		if status == thread.Cancelled {
			o.cause = string(b.Reason)
		}
	case noticev1.Posted:
		o.text = b.Text
	case approvalv1.Decided:
		o.text, o.decision = b.Text, b.Answer.Decision
	case turnv1.SessionReset:
		o.text = cmp.Or(b.Text, resetText)
	case turnv1.SessionConfigured:
		o.text = b.Text
	case turnv1.SessionCompacted:
		o.text = b.Text
	case turnv1.CompactionFailed:
		o.text, o.cause = b.Text, string(b.Cause)
	case messagev1.Refused:
		o.text, o.cause = b.Detail, string(b.Reason)
	case messagev1.Edited:
		o.text = "The edit is taken."
	case messagev1.Reacted:
		o.text = "The reaction is taken."
	case messagev1.PermissionAnswer:
		o.text = passedOn
	default:
		o.status, o.text = thread.Failed, "The answer cannot be read by this version of jetclaw."
	}
	return o
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
