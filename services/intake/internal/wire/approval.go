package wire

import (
	"encoding/json"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

// ApprovalStatus is where an approval stands. All but open are final.
type ApprovalStatus string

// The statuses, as the approvals service tells them.
const (
	ApprovalOpen      ApprovalStatus = "open"
	ApprovalAllowed   ApprovalStatus = "allowed"
	ApprovalDenied    ApprovalStatus = "denied"
	ApprovalExpired   ApprovalStatus = "expired"
	ApprovalCancelled ApprovalStatus = "cancelled" // its turn has ended
	ApprovalVoided    ApprovalStatus = "voided"    // what was asked is not what would run any more
)

// Approval is what the approvals service tells of one, and what a client may see of it.
type Approval struct {
	ID       string          `json:"approval"`
	Session  session.ID      `json:"session"`
	Status   ApprovalStatus  `json:"status"`
	Decision callv1.Decision `json:"decision,omitempty"` // of one that is decided, when it is told
	Turn     string          `json:"turn,omitempty"`
	Call     string          `json:"call,omitempty"`
	Tool     string          `json:"tool"`
	Level    toolv1.Level    `json:"level,omitempty"`
	// Arguments are what the tool gets, canonical JSON; like Shown and Why, of an open one only.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Shown     string          `json:"shown,omitempty"` // exactly what runs
	Why       []string        `json:"why,omitempty"`
	Always    bool            `json:"always,omitempty"` // it can be allowed for later calls, too
	Fixed     string          `json:"fixed,omitempty"`  // what "always" would hold for
	Since     time.Time       `json:"since,omitzero"`   // when the call was parked
	Expires   time.Time       `json:"expires"`
	// Approvers are the identities that may decide.
	Approvers []string  `json:"approvers"`
	By        string    `json:"by,omitempty"` // who has decided
	At        time.Time `json:"at,omitzero"`
	Reason    string    `json:"reason,omitempty"` // of a denial
	Text      string    `json:"text,omitempty"`   // the question, or what became of it
}

// ApprovalRequest asks the approvals service for one (svc.approvals.get).
type ApprovalRequest struct {
	Approval string `json:"approval"`
}

// ApprovalsRequest asks it for those that are open (svc.approvals.list).
type ApprovalsRequest struct {
	Session session.ID `json:"session,omitempty"` // "": of all sessions
}

// Approvals are several, as the approvals service tells them.
type Approvals struct {
	Approvals []Approval `json:"approvals"`
	More      int        `json:"more,omitempty"` // how many are missing at least: a long list is cut
}
