package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const (
	dim   = "\x1b[2m"
	bold  = "\x1b[1m"
	plain = "\x1b[0m"
)

// textLine is an event as a line for a person.
func textLine(e envelope.Event, colour bool) string {
	on, off, strong := "", "", ""
	if colour {
		on, off, strong = dim, plain, bold
	}
	return strings.TrimRight(fmt.Sprintf("%s%6d  %s  %s%s  %s%-18s%s %s", on, e.Cursor, e.Time.Local().Format("2006-01-02 15:04:05.000"),
		e.Session, off, strong, flat(e.Kind()), off, flat(summary(e.Body))), " ") + "\n"
}

// summary is what a person wants to know first.
func summary(body envelope.Body) string {
	switch b := body.(type) {
	case messagev1.Event:
		return messageSummary(b)
	case turnv1.Event:
		return turnSummary(b)
	case deliveryv1.Event:
		return deliverySummary(b)
	case callv1.Event:
		return callSummary(b)
	case approvalv1.Event:
		return approvalSummary(b)
	case noticev1.Posted:
		return oneLine(b.Text)
	case envelope.Unknown:
		return "cannot be decoded: " + oneLine(b.Err.Error())
	}
	return ""
}

func messageSummary(body messagev1.Event) string {
	switch b := body.(type) {
	case messagev1.Received:
		return b.From.ID + ": " + oneLine(b.Text)
	case messagev1.Edited:
		return b.From.ID + ": " + oneLine(b.Text)
	case messagev1.Refused:
		return fmt.Sprintf("%s: %s (%d bytes)", b.From.ID, b.Reason, b.Bytes)
	case messagev1.Decision:
		return strings.TrimSpace(fmt.Sprintf("%s: %s %s %s", b.From.ID, b.Decision, b.Approval, oneLine(b.Reason)))
	case messagev1.Control:
		return strings.TrimSpace(b.From.ID + ": " + string(b.Verb) + " " + oneLine(b.Argument))
	}
	return ""
}

func callSummary(body callv1.Event) string {
	switch b := body.(type) {
	case callv1.Dispatched:
		return fmt.Sprintf("%s %s %s (%s)", b.Call, b.Tool, oneLine(plainJSON(b.Arguments)), b.Rule)
	case callv1.Awaiting:
		return fmt.Sprintf("%s %s %s (%s)", b.Call, b.Tool, oneLine(plainJSON(b.Arguments)), b.Rule)
	case callv1.Denied:
		return b.Call + ": " + oneLine(b.Reason)
	case callv1.Started:
		return fmt.Sprintf("%s attempt %d, by %s", b.Call, b.Attempt, b.Worker)
	case callv1.Completed:
		return fmt.Sprintf("%s %s: %s", b.Call, b.Outcome, oneLine(b.Content))
	}
	return ""
}

func approvalSummary(body approvalv1.Event) string {
	switch b := body.(type) {
	case approvalv1.Requested:
		return fmt.Sprintf("%s for %s, until %s", b.Approval, b.Tool, b.Expires.Local().Format(time.DateTime))
	case approvalv1.Decided:
		return strings.TrimSpace(fmt.Sprintf("%s: %s by %s %s", b.Approval, b.Answer.Decision, b.Answer.By, oneLine(b.Reason)))
	case approvalv1.Expired:
		return b.Approval
	case approvalv1.Cancelled:
		return b.Approval
	case approvalv1.Voided:
		return b.Approval + ": " + oneLine(b.Reason)
	}
	return ""
}

func deliverySummary(body deliveryv1.Event) string {
	switch b := body.(type) {
	case deliveryv1.Started:
		return fmt.Sprintf("attempt %d", b.Attempt)
	case deliveryv1.Sent:
		return oneLine(b.Receipt)
	case deliveryv1.Deferred:
		return fmt.Sprintf("until %s: %s", b.Until.Local().Format(time.DateTime), oneLine(b.Reason))
	case deliveryv1.Failed:
		return oneLine(b.Reason)
	case deliveryv1.Unknown:
		if b.Resend {
			return "may have arrived; sent again"
		}
		return "may have arrived; held"
	}
	return ""
}

// plainJSON is a JSON value as a person would write it: <, > and & stand for themselves.
func plainJSON(raw []byte) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(raw)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return string(raw)
	}
	return strings.TrimSpace(b.String())
}
