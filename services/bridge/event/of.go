package event

import (
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// builtin is the executor of jetclaw's own tools.
const builtin = "builtin"

// KindOf is what clients call the kind of an approval: "exec" for a built-in tool, "plugin" for one of an MCP server.
func KindOf(executor string) string {
	if executor == builtin {
		return "exec"
	}
	return "plugin"
}

// Resolves says that an event ends an approval, and which. Whose tool it was about the event does not say: see Of.
func Resolves(ev envelope.Event) (approval string, ok bool) {
	switch b := ev.Body.(type) {
	case approvalv1.Decided:
		return b.Approval, true
	case approvalv1.Expired:
		return b.Approval, true
	case approvalv1.Cancelled:
		return b.Approval, true
	case approvalv1.Voided:
		return b.Approval, true
	}
	return "", false
}

// Of is what an event of the journal says to clients: nothing, one event, or two. executor is that of the call that the approval is
// about, for events that end one (Resolves).
func Of(ev envelope.Event, executor string) []Event {
	if ev.Session.Channel() == House {
		return nil
	}
	one := func(t Type, b Body) []Event {
		return []Event{{Cursor: ev.Cursor, Type: t, Session: ev.Session, Time: ev.Time, Body: b}}
	}
	switch b := ev.Body.(type) {
	case messagev1.Event:
		return ofMessage(b, ev, one)
	case noticev1.Posted:
		return ofNotice(b, ev, one)
	case turnv1.Started:
		return one(TurnStarted, Turn{ID: b.Turn, Answers: b.Messages, Status: "started"})
	case turnv1.Completed:
		end := one(TurnCompleted, Turn{ID: b.Turn, Answers: b.Answers, Status: "completed", Model: b.Model})
		return append(one(MessageType, Message{ID: ev.ID, Role: Assistant, From: b.Model, Text: b.Text, Turn: b.Turn}), end...)
	case turnv1.Failed:
		end := one(TurnCompleted, Turn{ID: b.Turn, Answers: b.Answers, Status: "failed", Cause: string(b.Cause), Model: b.Model})
		return append(one(MessageType, Message{ID: ev.ID, Role: Notice, Text: b.Text, Turn: b.Turn, Failed: true}), end...)
	case turnv1.Cancelled:
		return one(TurnCompleted, Turn{ID: b.Turn, Answers: b.Answers, Status: "cancelled", Cause: string(b.Reason)})
	case approvalv1.Event:
		return ofApproval(b, ev, executor, one)
	case deliveryv1.Event:
		return ofDelivery(b, one)
	}
	return nil
}

func ofMessage(b messagev1.Event, ev envelope.Event, one func(Type, Body) []Event) []Event {
	switch b := b.(type) {
	case messagev1.Received:
		return one(MessageType, Message{
			ID: ev.ID, Role: User, From: b.From.ID, Name: b.From.Name, Text: b.Text, Files: len(b.Files), Group: b.Group,
		})
	case messagev1.Edited:
		return one(MessageType, Message{ID: b.Message, Role: User, From: b.From.ID, Name: b.From.Name, Text: b.Text, Edited: true})
	case messagev1.PermissionAnswer:
		p := Permitted{Request: b.Request, Notice: b.Notice, Behavior: "deny", From: b.From.ID}
		if b.Allow {
			p.Behavior = "allow"
		}
		return one(PermissionEnd, p)
	case messagev1.Refused, messagev1.Reacted, messagev1.Quarantined, messagev1.Control, messagev1.Decision:
	}
	return nil
}

func ofNotice(b noticev1.Posted, ev envelope.Event, one func(Type, Body) []Event) []Event {
	switch p := b.Permission; {
	case p != nil:
		return one(PermissionType, Permission{
			Request: p.Request, Tool: p.Tool, Description: p.Description, Preview: p.Preview, By: b.By, Expires: p.Expires.UnixMilli(),
		})
	case b.Quiet:
		return nil
	case b.By != "":
		return one(MessageType, Message{ID: ev.ID, Role: Assistant, From: b.By, Text: b.Text})
	}
	return one(MessageType, Message{ID: ev.ID, Role: Notice, Text: b.Text})
}

func ofApproval(b approvalv1.Event, ev envelope.Event, executor string, one func(Type, Body) []Event) []Event {
	resolved := Resolved{At: ev.Time.UnixMilli()}
	switch b := b.(type) {
	case approvalv1.Requested:
		t := PluginRequested
		if b.Executor == builtin {
			t = ExecRequested
		}
		return one(t, Requested{ID: b.Approval, Created: ev.Time.UnixMilli(), Expires: b.Expires.UnixMilli(), Request: Request{
			Tool: b.Tool, Executor: b.Executor, Arguments: b.Arguments, Level: b.Level.String(), Why: b.Why, Shown: b.Shown,
			Always: b.Grant != "", Session: string(ev.Session), Turn: b.Turn, Call: b.Call,
		}})
	case approvalv1.Decided:
		resolved.ID, resolved.Decision, resolved.By, resolved.Reason = b.Approval, string(b.Answer.Decision), b.Answer.By, b.Reason
	case approvalv1.Expired:
		resolved.ID, resolved.Decision = b.Approval, "expired"
	case approvalv1.Cancelled:
		resolved.ID, resolved.Decision = b.Approval, "cancelled"
	case approvalv1.Voided:
		resolved.ID, resolved.Decision, resolved.Reason = b.Approval, "voided", b.Reason
	}
	if executor == builtin {
		return one(ExecResolved, resolved)
	}
	return one(PluginResolved, resolved)
}

func ofDelivery(b deliveryv1.Event, one func(Type, Body) []Event) []Event {
	of := func(r deliveryv1.Ref, status string) Delivery {
		return Delivery{ID: r.Delivery, Status: status, Attempt: r.Attempt, Part: r.Part}
	}
	var d Delivery
	switch b := b.(type) {
	case deliveryv1.Sent:
		d = of(b.Ref, "sent")
		d.More, d.Receipt = b.More, b.Receipt
	case deliveryv1.Deferred:
		d = of(b.Ref, "deferred")
		d.Reason, d.Until = b.Reason, b.Until.UnixMilli()
	case deliveryv1.Failed:
		d = of(b.Ref, "failed")
		d.Reason = b.Reason
	case deliveryv1.Unknown:
		d = of(b.Ref, "unknown")
		d.Again = b.Resend
	case deliveryv1.Started, deliveryv1.Drafting, deliveryv1.Drafted:
		return nil
	}
	return one(DeliveryType, d)
}
