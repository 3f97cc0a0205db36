// Package callv1 has the events of a tool call: what the gate decides about it (tools), and what its executor does.
//
//	turn.stepped ─► dispatched ─► started ─► completed
//	            ├─► awaiting ─► (approval) ─► dispatched …
//	            └─► denied
//
// Between started and completed a call may have asked, several times: what carries it out wants to know something of a person.
package callv1

import (
	"encoding/json"
	"time"

	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

// Event is the sealed set of this package.
//
//sumtype:decl
type Event interface {
	envelope.Body
	call()
}

// Request is exactly what is to run, and what that was decided by. Approvals are bound to all of it.
type Request struct {
	Turn       string          `json:"turn"`
	Call       string          `json:"call"`  // id, unique within the turn
	Index      int             `json:"index"` // place among the calls of its step
	Tool       string          `json:"tool"`
	Executor   string          `json:"executor"`
	Arguments  json.RawMessage `json:"arguments"`        // a JSON object, canonical (RFC 8785)
	Digest     string          `json:"arguments_digest"` // SHA-256 of Arguments
	ToolDigest string          `json:"tool_digest"`      // of the tool's entry in the catalogue
	Level      toolv1.Level    `json:"level"`            // of this call: what its arguments name may raise the tool's
	Policy     string          `json:"policy"`           // version of what decided
	Files      []File          `json:"files,omitzero"`   // that the call is about, as they were
}

// Sum is the digest of the arguments as they are, however a writer of JSON has spelled them on the way (encoding/json
// writes < as \u003c): "" when they are no JSON.
func (r Request) Sum() string {
	raw, err := canonical.JSON(r.Arguments)
	if err != nil {
		return ""
	}
	return canonical.Digest(raw)
}

// File is a file of the workspace, as it was when something was decided about it.
type File struct {
	Path   string `json:"path"`             // relative to the workspace
	Digest string `json:"digest,omitempty"` // SHA-256 of its content; "" when there is none
}

// Approval is a person's decision that allows a request, signed by the approvals service.
type Approval struct {
	ID        string    `json:"id"`
	Decision  Decision  `json:"decision"`
	By        string    `json:"by"`              // identity of who decided
	Shown     string    `json:"shown"`           // SHA-256 of the text that was shown
	Expires   time.Time `json:"expires"`         // of the question
	At        time.Time `json:"at"`              // of the decision
	Grant     string    `json:"grant,omitempty"` // digest of what "always" holds for
	Signature []byte    `json:"signature"`       // Ed25519 over Statement
	// GrantSignature is over the decision and its Grant alone, so that it can be checked for later calls.
	GrantSignature []byte `json:"grant_signature,omitzero"`
}

// Decision is an answer to an approval.
type Decision string

// The decisions.
const (
	AllowOnce   Decision = "allow-once"
	AllowAlways Decision = "allow-always"
	Deny        Decision = "deny"
)

// Valid says whether it is one of them.
func (d Decision) Valid() bool { return d == AllowOnce || d == AllowAlways || d == Deny }

// Allows says whether the call may run.
func (d Decision) Allows() bool { return d == AllowOnce || d == AllowAlways }

// Dispatched hands a call to its executor.
type Dispatched struct {
	Request
	Rule string `json:"rule"` // what decided that it may run, for people
	// Limit bounds the call, Again says that it may be carried out twice: as the catalogue said then. The first events have
	// neither.
	Limit time.Duration `json:"limit,omitempty"`
	Again bool          `json:"again,omitempty"`
	// Approval is the decision that allows exactly this request; nil where none was needed.
	Approval *Approval `json:"approval,omitempty"`
	// Always is the earlier decision "always" that allows it; nil else.
	Always *Approval `json:"always,omitempty"`
}

// Awaiting parks a call until a person has decided.
type Awaiting struct {
	Request
	Rule  string   `json:"rule"`
	Why   []string `json:"why"`   // in plain words: what a person should know, most important first
	Shown string   `json:"shown"` // exactly what runs, control and bidi characters made visible
	// Fixed is what "always" would hold for, in words; "" when only this call can be allowed.
	Fixed string `json:"fixed,omitempty"`
	Grant string `json:"grant,omitempty"` // digest of it
}

// Denied says that the call was not allowed; the model is told why.
type Denied struct {
	Turn     string `json:"turn"`
	Call     string `json:"call"`
	Reason   string `json:"reason"`
	Rule     string `json:"rule,omitempty"`     // what decided, for people
	Policy   string `json:"policy,omitempty"`   // version of what decided
	Approval string `json:"approval,omitempty"` // id of the approval that was not given
}

// Started claims a call: appended before anything happens.
type Started struct {
	Executor string    `json:"executor"`
	Turn     string    `json:"turn"`
	Call     string    `json:"call"`
	Attempt  int       `json:"attempt"` // from 1
	Worker   string    `json:"worker"`
	Deadline time.Time `json:"deadline"` // after it anybody may say what became of it
}

// Asked is a question to a person in the middle of a call: its executor wants to know something before it goes on. The call's time
// goes on meanwhile. A new question of the same call withdraws the one before.
type Asked struct {
	// Request is the call, with the content that an answer sends which changes nothing as its Arguments. Its ToolDigest is that of
	// the question (QuestionDigest) and no tool's: a decision about the question allows no call.
	Request
	Attempt  int             `json:"attempt"`  // of the call
	Question string          `json:"question"` // id
	Message  string          `json:"message"`  // whoever asks, in their words; untrusted, without control characters
	Schema   json.RawMessage `json:"schema"`   // of the content: what package form reads
	Why      []string        `json:"why"`      // as in Awaiting
	Shown    string          `json:"shown"`    // exactly what is asked, and would be sent
	Expires  time.Time       `json:"expires"`  // after it nobody waits for an answer
}

// QuestionDigest is what a decision about a question is bound to in place of a tool: tool is the digest of the call's.
func QuestionDigest(tool, question, message string, schema json.RawMessage) string {
	if raw, err := canonical.JSON(schema); err == nil { // however it was spelled on the way
		schema = raw
	}
	raw, err := json.Marshal([]string{"jetclaw question v1", tool, question, message, string(schema)})
	if err != nil {
		return "" // no such value
	}
	return canonical.Digest(raw)
}

// Outcome of a call.
type Outcome string

const (
	OK        Outcome = "ok"
	Error     Outcome = "error"     // the tool ran and says that it failed
	Unknown   Outcome = "unknown"   // it may have run: its worker died in between
	TimedOut  Outcome = "timed_out" // it was ended at its time limit; what it had done by then is done
	Cancelled Outcome = "cancelled" // it was ended because its turn was; what it had done by then is done
	Refused   Outcome = "refused"   // the executor's own check failed: it did not run
)

// Completed is the result of a call, appended by the executor that ran it.
type Completed struct {
	Executor string  `json:"executor"`
	Turn     string  `json:"turn"`
	Call     string  `json:"call"`
	Outcome  Outcome `json:"outcome"`
	Content  string  `json:"content"`           // what the model is shown; untrusted
	Attempt  int     `json:"attempt,omitempty"` // that it answers; 0 in the first events, which had one only
	// Untrusted says that Content is text from outside (taint A), Private that it is private data (taint B).
	Untrusted bool `json:"untrusted,omitempty"`
	Private   bool `json:"private,omitempty"`
	// Cut is how many bytes of the result were not kept.
	Cut int64 `json:"cut,omitempty"`
	// Files are pictures and the like that are part of the result; Content names them.
	Files []Attachment `json:"files,omitzero"`
}

// Attachment is a file that a tool has returned. It is kept like those that people send.
type Attachment struct {
	Name   string `json:"name,omitempty"` // as the tool calls it
	Type   string `json:"type,omitempty"` // media type, as the tool says
	Size   int64  `json:"size"`           // bytes
	Digest string `json:"digest"`         // SHA-256, by which it is found
}

func (Dispatched) EventType() string       { return "call.dispatched.v1" }
func (d Dispatched) SubjectSuffix() string { return d.Executor }
func (Awaiting) EventType() string         { return "call.awaiting.v1" }
func (Denied) EventType() string           { return "call.denied.v1" }
func (Started) EventType() string          { return "call.started.v1" }
func (s Started) SubjectSuffix() string    { return s.Executor }
func (Asked) EventType() string            { return "call.asked.v1" }
func (a Asked) SubjectSuffix() string      { return a.Executor }
func (Completed) EventType() string        { return "call.completed.v1" }
func (c Completed) SubjectSuffix() string  { return c.Executor }

func (Dispatched) call() {}
func (Awaiting) call()   {}
func (Denied) call()     {}
func (Started) call()    {}
func (Asked) call()      {}
func (Completed) call()  {}
