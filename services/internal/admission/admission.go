// Package admission is what each executor checks before it carries out a call: who decided that it may run is another process,
// and may have decided a while ago.
package admission

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

const (
	// Life is how long after a person's answer a call may start: what was meant for now is not meant for next week.
	Life = time.Hour
	// allowRule begins the rule of a call that the operator's policy allows without asking.
	allowRule = "policy.allow"
)

// Check says why a call must not run, in words for the model; nil when it may. tool is the executor's own entry, key that of the
// approvals service. allowed says that a person has allowed this very call, or "always" one like it, or a rule stands for that.
func Check(key ed25519.PublicKey, id session.ID, d callv1.Dispatched, tool toolv1.Tool, now time.Time) (allowed bool, err error) {
	switch {
	case tool.Digest() != d.ToolDigest:
		return false, fmt.Errorf("the tool %s has changed since this was decided; try again", d.Tool)
	case d.Digest == "" || d.Sum() != d.Digest:
		return false, errors.New("the arguments are not those that were decided about")
	}
	switch {
	case d.Approval != nil && !d.Approval.Verify(key, id, d.Request):
		return false, errors.New("the approval is not valid for this call")
	case d.Approval != nil && now.Sub(d.Approval.At) > Life:
		return false, fmt.Errorf("it was allowed more than %s ago, and did not start in time; ask again", Life)
	case d.Approval != nil:
		return true, nil
	case d.Always != nil && !d.Always.VerifyGrant(key, id, d.ToolDigest):
		return false, errors.New("no decision \"always\" holds for this call")
	case d.Always != nil && tool.Level < toolv1.L3:
		return true, nil
	case tool.Level >= toolv1.L3 || d.Level >= toolv1.L3:
		return false, errors.New("nobody has allowed this call")
	case (tool.Level >= toolv1.L2 || d.Level >= toolv1.L2) && !strings.HasPrefix(d.Rule, allowRule):
		return false, errors.New("nobody has allowed this call, and no rule does")
	}
	// A rule of the operator that allows a call stands for a person's answer.
	return d.Level >= toolv1.L2, nil
}
