package approvalv1

import (
	"strings"

	"github.com/jetclaw/jetclaw/schemas/callv1"
)

// Button is what a channel's button sends when it is pressed: which approval, and which answer. It carries no authority: who
// presses it, and whether they may, is proved by the channel and decided by the approvals service.
type Button struct {
	Approval string
	Decision callv1.Decision
}

const buttonPrefix = "ap:"

// Data is the button on the wire, at most 64 bytes (Bot API: callback_data).
func (b Button) Data() string { return buttonPrefix + string(b.Decision) + ":" + b.Approval }

// ParseButton reads what a pressed button has sent; ok is false for one that is none of these.
func ParseButton(data string) (b Button, ok bool) {
	rest, ok := strings.CutPrefix(data, buttonPrefix)
	if !ok || len(data) > 64 {
		return Button{}, false
	}
	decision, approval, ok := strings.Cut(rest, ":")
	b = Button{Approval: approval, Decision: callv1.Decision(decision)}
	switch b.Decision {
	case callv1.AllowOnce, callv1.AllowAlways, callv1.Deny:
		return b, ok && approval != ""
	}
	return Button{}, false
}
