package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Rules are what the machine decides by beside its fold.
type Rules struct {
	TTL       time.Duration // how long a question is open
	Approvers []string      // identities that may decide: "local", "telegram:12345", "http:<token name>"
	// Sign adds the signature of the service. The same arguments must always give the same.
	Sign func(session.ID, callv1.Request, callv1.Approval) callv1.Approval
}

// Validate says what is wrong with the rules, and what would come of it.
func (r Rules) Validate() error {
	switch {
	case r.TTL <= 0:
		return errors.New("approvals: the time that a question is open is not positive: each would expire at once")
	case len(r.Approvers) == 0:
		return errors.New("approvals: nobody may decide: each question would expire")
	case r.Sign == nil:
		return errors.New("approvals: decisions cannot be signed: no executor would take them")
	}
	for _, who := range r.Approvers {
		if err := validIdentity(who); err != nil {
			return err
		}
	}
	return nil
}

// validIdentity refuses names that their owner can change: whoever takes a free name would become an approver.
func validIdentity(who string) error {
	channel, id, ok := strings.Cut(who, ":")
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	switch {
	case who == "local":
		return nil
	case !ok || channel == "" || strings.TrimSpace(id) != id || id == "":
		return fmt.Errorf("approvals: %q is no identity: write local, telegram:<number> or http:<token name>", who)
	case channel == "telegram" && strings.IndexFunc(id, func(r rune) bool { return !digit(r) }) >= 0:
		return fmt.Errorf("approvals: %q: a Telegram user is named by number, as names can be taken over by others", who)
	}
	return nil
}

// may says whether somebody may decide a: by what was asked, and by today's rules.
func (r Rules) may(by string, approvers []string) bool {
	return slices.Contains(approvers, by) && slices.Contains(r.Approvers, by)
}

// Answer is what somebody says to a question.
type Answer struct {
	Approval string          `json:"approval,omitempty"`
	By       string          `json:"by"` // identity, as the channel proves it
	Decision callv1.Decision `json:"decision"`
	Reason   string          `json:"reason,omitempty"`
	// Via is the program through which it came, in its own words: it decides nothing.
	Via string `json:"-"`
	// Arguments replace those that were asked about; nil: they are left alone. Only with an allowing decision.
	Arguments json.RawMessage `json:"-"`
}

// Question is what the gate is asked about a call before it is allowed.
type Question struct {
	Submission string // id of the submission that it is about; "" for an answer that came by the endpoint
	Turn       string
	Call       string
	Index      int
	Tool       string
	Arguments  json.RawMessage
}

// Effect is what the gate would do with a call now.
type Effect string

// The effects.
const (
	Run  Effect = "run"
	Ask  Effect = "ask"
	Deny Effect = "deny"
)

// Verdict is the gate's answer to a Question.
type Verdict struct {
	Submission string         // of the Question
	Effect     Effect         // another one than those above is no answer
	Request    callv1.Request // what would run
	Reason     string         // Deny
	Shown      string         // Ask
	Grant      string         // Ask
}
