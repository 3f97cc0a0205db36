// Package turnv1 has the events of the turns service: the life of one turn, and of the session's memory.
package turnv1

import (
	"encoding/json"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// Event is the sealed set of this package.
//
//sumtype:decl
type Event interface {
	envelope.Body
	turn()
}

// Claim is the part that Started, Continued and Resumed share: a worker announces one model call. Whoever folds it knows
// who runs it and until when; an outcome names Turn, Round and Attempt, and counts only while these are open.
type Claim struct {
	Turn     string    `json:"turn"`     // "<id of its first message>/t"
	Round    int       `json:"round"`    // model calls of the turn so far, this one included; from 1
	Attempt  int       `json:"attempt"`  // of this round; from 1
	Worker   string    `json:"worker"`   // instance that makes the call
	Deadline time.Time `json:"deadline"` // after it anybody may take over
	Messages []string  `json:"messages"` // ids of the messages that the turn answers, in order
}

// Started claims the first model call of a turn.
type Started struct{ Claim }

// Continued claims the next model call, after all calls of the round before have results.
type Continued struct{ Claim }

// Resumed takes over a claim whose owner is gone; Attempt is one higher.
type Resumed struct {
	Claim
	From string `json:"from"` // the worker that held it
}

// Call is one tool call that the model asked for, parsed.
type Call struct {
	ID        string          `json:"id"` // the model's, made unique within the turn
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object
	// Refusal is set when the call never leaves the turn: the tool was not offered, or the arguments are not a JSON
	// object. The text is the result that the model gets.
	Refusal string `json:"refusal,omitempty"`
}

// Usage counts tokens as the provider reports them; 0 where it does not.
type Usage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

// Outcome is what every end of a model call names.
type Outcome struct {
	Turn    string `json:"turn"`
	Round   int    `json:"round"`
	Attempt int    `json:"attempt"`
	Model   string `json:"model,omitempty"` // provider/model that answered
	Usage   Usage  `json:"usage"`
}

// Stepped ends a model call with tool calls. The turn waits until each of them has a result.
type Stepped struct {
	Outcome
	Text  string `json:"text,omitempty"` // what the model said beside the calls
	Calls []Call `json:"calls"`          // at least one
}

// Completed ends the turn with an answer to exactly the messages listed.
type Completed struct {
	Outcome
	Answers []string `json:"answers"`
	Text    string   `json:"text"`
}

// Cause is the class of a failure.
type Cause string

const (
	ModelRefused     Cause = "model_refused"     // the provider refused the request (4xx)
	ModelUnavailable Cause = "model_unavailable" // could not be reached, or 408/429/5xx to the end
	ModelGarbage     Cause = "model_garbage"     // the answer could not be read, or was cut, or was empty
	TimedOut         Cause = "timed_out"         // the call's or the turn's time limit
	Exhausted        Cause = "exhausted"         // too many take-overs
	TooManyRounds    Cause = "too_many_rounds"   // the model kept calling tools
)

// Failed ends the turn without an answer; it is final. Text is what the person is told.
type Failed struct {
	Outcome
	Answers []string `json:"answers"`
	Cause   Cause    `json:"cause"`
	Text    string   `json:"text"`
	Detail  string   `json:"detail,omitempty"` // for the operator; no secrets
}

// Cancelled ends the turn because a person asked for it.
type Cancelled struct {
	Turn    string   `json:"turn"`
	Answers []string `json:"answers"`
	By      string   `json:"by"` // id of the control
}

// SessionReset begins afresh: what came before is no longer shown to the model.
type SessionReset struct {
	By string `json:"by"` // id of the control
}

// SessionDeleted is the tombstone of a session: what lies below it was purged. Only a new message may follow.
type SessionDeleted struct {
	By string `json:"by"`
}

func (Started) EventType() string        { return "turn.started.v1" }
func (Continued) EventType() string      { return "turn.continued.v1" }
func (Resumed) EventType() string        { return "turn.resumed.v1" }
func (Stepped) EventType() string        { return "turn.stepped.v1" }
func (Completed) EventType() string      { return "turn.completed.v1" }
func (Failed) EventType() string         { return "turn.failed.v1" }
func (Cancelled) EventType() string      { return "turn.cancelled.v1" }
func (SessionReset) EventType() string   { return "session.reset.v1" }
func (SessionDeleted) EventType() string { return "session.deleted.v1" }

func (Started) turn()        {}
func (Continued) turn()      {}
func (Resumed) turn()        {}
func (Stepped) turn()        {}
func (Completed) turn()      {}
func (Failed) turn()         {}
func (Cancelled) turn()      {}
func (SessionReset) turn()   {}
func (SessionDeleted) turn() {}
