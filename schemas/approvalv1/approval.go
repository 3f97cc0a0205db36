// Package approvalv1 has the events of the approvals service: what became of a question to a person.
//
//	requested ─► decided | expired | cancelled | voided
package approvalv1

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Event is the sealed set of this package.
//
//sumtype:decl
type Event interface {
	envelope.Body
	approval()
}

// ID is the id of the approval that an event leads to, a call.awaiting or a call.asked: whoever decides it twice gets the same.
func ID(s session.ID, event string) string {
	const letters = "abcdefghijklmnopqrstuvwxyz234567" // base32, lower case
	sum := sha256.Sum256([]byte(string(s) + event))
	id := []byte{'a'}
	var bits, have uint
	for i := 0; len(id) < 11; {
		if have < 5 {
			bits, have = bits<<8|uint(sum[i]), have+8
			i++
		}
		have -= 5
		id = append(id, letters[bits>>have&31])
	}
	return string(id)
}

// Ref names an approval and the call that waits for it.
type Ref struct {
	Approval string `json:"approval"` // id; it carries no authority
	Turn     string `json:"turn"`
	Call     string `json:"call"`
}

// Requested asks a person.
type Requested struct {
	Approval string `json:"approval"`
	callv1.Request
	Why       []string  `json:"why"`
	Shown     string    `json:"shown"` // exactly what runs
	Fixed     string    `json:"fixed,omitempty"`
	Grant     string    `json:"grant,omitempty"`
	Approvers []string  `json:"approvers"` // identities that may decide
	Expires   time.Time `json:"expires"`   // at this instant it is expired
	Text      string    `json:"text"`      // the whole question, as a channel shows it
	// Ways is the end of Text that says how to answer by writing. A channel with buttons leaves it out.
	Ways string `json:"ways,omitempty"`
	// Schema is that of the content, where the question is one of call.asked: nothing runs, but the arguments are sent.
	Schema json.RawMessage `json:"schema,omitzero"`
}

// Decided is a person's answer; the first one counts.
type Decided struct {
	Ref
	Answer callv1.Approval `json:"answer"`
	// Edited are the request's parts that differ from what was asked: the person has changed the arguments.
	Edited  *callv1.Request `json:"edited,omitempty"`
	Reason  string          `json:"reason,omitempty"` // of a denial, in the person's words; the model is told
	Answers []string        `json:"answers,omitzero"` // ids of the decision.submitted that it answers
	Text    string          `json:"text"`             // what the channel shows
	// Via is the program through which the answer came, as it names itself ("mcp:claude-code"); "" for a person's own means.
	Via string `json:"via,omitempty"`
}

// Expired says that nobody has answered in time.
type Expired struct {
	Ref
	Text string `json:"text"`
}

// Cancelled says that the turn of the call was ended: there is nothing to decide any more.
type Cancelled struct {
	Ref
}

// Voided says that what was asked is no longer what would run: the policy has changed.
type Voided struct {
	Ref
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

func (Requested) EventType() string { return "approval.requested.v1" }
func (Decided) EventType() string   { return "approval.decided.v1" }
func (Expired) EventType() string   { return "approval.expired.v1" }
func (Cancelled) EventType() string { return "approval.cancelled.v1" }
func (Voided) EventType() string    { return "approval.voided.v1" }

func (Requested) approval() {}
func (Decided) approval()   {}
func (Expired) approval()   {}
func (Cancelled) approval() {}
func (Voided) approval()    {}
