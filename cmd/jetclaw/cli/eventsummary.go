package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

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
	case accessv1.Event:
		return accessSummary(b)
	case noticev1.Posted:
		if b.By != "" {
			return oneLine(b.By + ": " + b.Text)
		}
		return oneLine(b.Text)
	case envelope.Unknown:
		return "cannot be decoded: " + oneLine(b.Err.Error())
	}
	return ""
}

func messageSummary(body messagev1.Event) string {
	switch b := body.(type) {
	case messagev1.Received:
		return strings.TrimSpace(b.From.ID + ": " + filesSummary(b.Files) + oneLine(b.Text))
	case messagev1.Edited:
		return b.From.ID + ": " + oneLine(b.Text)
	case messagev1.Refused:
		return fmt.Sprintf("%s: %s (%d bytes)", b.From.ID, b.Reason, b.Bytes)
	case messagev1.Decision:
		return strings.TrimSpace(fmt.Sprintf("%s: %s %s %s", b.From.ID, b.Decision, b.Approval, oneLine(b.Reason)))
	case messagev1.PermissionAnswer:
		answer := "no"
		if b.Allow {
			answer = "yes"
		}
		return fmt.Sprintf("%s: %s %s", b.From.ID, answer, oneLine(b.Request))
	case messagev1.Reacted:
		return fmt.Sprintf("%s: %s on %s", b.From.ID, orDash(strings.Join(b.Emoji, " ")), b.Native)
	case messagev1.Quarantined:
		return fmt.Sprintf("%s.%s %s (%d bytes): %s", b.Channel, b.Account, b.Source, b.Bytes, oneLine(b.Reason))
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
	case callv1.Asked:
		return fmt.Sprintf("%s attempt %d asks: %s", b.Call, b.Attempt, oneLine(b.Message))
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
		return fmt.Sprintf("attempt %d%s", b.Attempt, partSummary(b.Part))
	case deliveryv1.Sent:
		return oneLine(b.Receipt) + partSummary(b.Part)
	case deliveryv1.Drafting:
		return fmt.Sprintf("%s round %d, by %s", b.Turn, b.Round, b.Worker)
	case deliveryv1.Drafted:
		return fmt.Sprintf("%s round %d: %s", b.Turn, b.Round, orDash(oneLine(b.Receipt)))
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

// partSummary says which part of an item it is about, where it has several.
func partSummary(part int) string {
	if part == 0 {
		return ""
	}
	return fmt.Sprintf(" (part %d)", part+1)
}

// filesSummary is what came beside a text.
func filesSummary(files []messagev1.File) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "[%s] ", strings.TrimSpace(string(f.Kind)+" "+oneLine(f.Name)))
	}
	return b.String()
}

func accessSummary(body accessv1.Event) string {
	switch b := body.(type) {
	case accessv1.Requested:
		return fmt.Sprintf("%s.%s %s (%s) asks with %s", b.Channel, b.Account, b.Who, oneLine(b.Name), b.Code)
	case accessv1.Granted:
		role := ""
		if b.Owner {
			role = " as an owner"
		}
		return fmt.Sprintf("%s.%s %s (%s) is let in%s by %s", b.Channel, b.Account, b.Who, oneLine(b.Name), role, b.By)
	case accessv1.Revoked:
		return fmt.Sprintf("%s.%s %s is sent away by %s", b.Channel, b.Account, b.Who, b.By)
	case accessv1.Moved:
		return fmt.Sprintf("%s.%s group %s is now %s", b.Channel, b.Account, b.From, b.To)
	}
	return ""
}
