package call

import (
	"encoding/json"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Judge decides about one call. It is given to Next, so that the machine itself stays a function of its arguments: rules,
// catalogue and files are the judge's. The same question may be asked again; each answer is about now.
type Judge func(Question) Verdict

// Question is one call, as the model asked for it or as a person has edited it.
type Question struct {
	Session   session.ID
	Turn      string
	Call      string
	Index     int
	Tool      string
	Arguments json.RawMessage // as the model wrote them, or as a person edited them
	Taint     Taint
	Always    []callv1.Approval // decisions "always" of this session, whose Grant may be this call's
}

// Taint is what the session's model has read since the session began or was reset. It decides what may leave.
type Taint struct {
	Untrusted bool `json:"untrusted,omitempty"` // A: text from outside
	Private   bool `json:"private,omitempty"`   // B: data about the person, or private files
}

// Effect is what is to be done with a call.
type Effect string

// The effects.
const (
	Run  Effect = "run"
	Ask  Effect = "ask"
	Deny Effect = "deny"
)

// Verdict is the judge's answer.
type Verdict struct {
	Effect  Effect
	Request callv1.Request // what would run; of a denied call as far as it is known
	Limit   time.Duration  // of the tool: how long a call may take
	Again   bool           // of the tool: a call may be carried out twice
	Rule    string         // what decided, for people: "level L2", "policy.deny[0]", "trifecta"
	Reason  string         // Deny: what the model is told, so that it can act on it
	Why     []string       // Ask: what the person should know, most important first
	Shown   string         // Ask: exactly what would run
	Fixed   string         // Ask: what "always" would hold for, in words; "" when it cannot
	Grant   string         // Ask: digest of that
	Always  *callv1.Approval
}
