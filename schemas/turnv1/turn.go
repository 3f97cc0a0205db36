// Package turnv1 has the events of the turns service: the life of one turn, and of the session's memory.
package turnv1

import (
	"encoding/json"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
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
	// Answer is the result of a call that the turns service answers itself (reading a skill). It never leaves the turn.
	Answer string `json:"answer,omitempty"`
}

// Usage counts tokens as the provider reports them; 0 where it does not.
type Usage struct {
	Input      int   `json:"input"` // all of the request, what came from a cache included
	Output     int   `json:"output"`
	CacheRead  int   `json:"cache_read,omitempty"`  // of Input, read from the provider's cache
	CacheWrite int   `json:"cache_write,omitempty"` // of Input, written to it
	Cost       int64 `json:"cost,omitempty"`        // billionths of a US dollar; counts only with Priced
	Priced     bool  `json:"priced,omitempty"`      // a price of the model was known; else the cost is unknown, not 0
	Estimated  bool  `json:"estimated,omitempty"`   // the call ended before the provider told: jetclaw's own count of the request
}

// Try is a model that was asked before the one that answered.
type Try struct {
	Model  string `json:"model"` // provider/model
	Cause  Cause  `json:"cause"`
	Detail string `json:"detail,omitempty"` // for the operator; no secrets
}

// Outcome is what every end of a model call names.
type Outcome struct {
	Turn    string `json:"turn"`
	Round   int    `json:"round"`
	Attempt int    `json:"attempt"`
	Model   string `json:"model,omitempty"` // provider/model that answered
	Usage   Usage  `json:"usage"`
	Tried   []Try  `json:"tried,omitzero"` // before Model, in order
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
	ContextOverflow  Cause = "context_overflow"  // the conversation is too long for the model, compacted or not
	OverBudget       Cause = "over_budget"       // a budget of the turn, the agent or the day is used up
	Looping          Cause = "looping"           // the model repeats a call that fails
	Withdrawn        Cause = "withdrawn"         // a person stopped it (compactions; a stopped turn is cancelled)
)

// Failed ends the turn without an answer; it is final. Text is what the person is told.
type Failed struct {
	Outcome
	Answers []string `json:"answers"`
	Cause   Cause    `json:"cause"`
	Text    string   `json:"text"`
	Detail  string   `json:"detail,omitempty"` // for the operator; no secrets
}

// Overflowed ends a model call whose request was too long for the model. The turn goes on with a shorter one.
type Overflowed struct {
	Outcome
	Tokens int    `json:"tokens,omitempty"` // of the request, estimated
	Detail string `json:"detail,omitempty"` // what the provider said
}

// Reason says why messages were cancelled.
type Reason string

const (
	Stopped     Reason = "stopped"     // a person asked for it
	Interrupted Reason = "interrupted" // queue mode interrupt: a newer message took its place
	QueueFull   Reason = "queue_full"  // more messages waited than the queue may hold
)

// Cancelled takes messages out of the session without an answer, and ends the turn that they belong to.
type Cancelled struct {
	Turn    string   `json:"turn,omitempty"` // the running one; "" when only waiting messages are cancelled
	Answers []string `json:"answers"`        // of the turn, and those that waited
	By      string   `json:"by"`             // id of the control or message that led to it
	Reason  Reason   `json:"reason,omitempty"`
	Text    string   `json:"text,omitempty"` // what the person is told
	// Model is the one that was being asked, as far as is known, and Usage what that call has used at least; "" when no call
	// was under way.
	Model string `json:"model,omitempty"`
	Usage Usage  `json:"usage,omitzero"`
}

// Setting is what a person may choose for one session.
type Setting string

const (
	ModelSetting Setting = "model" // provider/model
	QueueSetting Setting = "queue" // a queue mode
)

// SessionConfigured changes a setting of the session.
type SessionConfigured struct {
	By      string  `json:"by"` // id of the control
	Setting Setting `json:"setting"`
	Value   string  `json:"value"` // "": the agent's own again
	Text    string  `json:"text"`  // what the person is told
}

// CompactionStarted claims the model call that summarises finished turns.
type CompactionStarted struct {
	Compaction string    `json:"compaction"` // "<id of the last turn that is replaced>/c"
	Attempt    int       `json:"attempt"`    // from 1
	Worker     string    `json:"worker"`
	Deadline   time.Time `json:"deadline"`
	Through    string    `json:"through"`      // id of the last turn that is to be replaced
	By         string    `json:"by,omitempty"` // id of the control that asks for it; "" when it is due by itself
}

// CompactionFailed ends it without a summary: the history stays as it is.
type CompactionFailed struct {
	Compaction string `json:"compaction"`
	Attempt    int    `json:"attempt"`
	By         string `json:"by,omitempty"`
	Model      string `json:"model,omitempty"`
	Usage      Usage  `json:"usage"`
	Cause      Cause  `json:"cause"`
	Text       string `json:"text"` // what a person who asked is told
	Detail     string `json:"detail,omitempty"`
}

// SessionCompacted replaces turns by a summary in what a model is shown. The turns stay in the journal.
type SessionCompacted struct {
	Compaction string `json:"compaction"`
	Attempt    int    `json:"attempt"`
	By         string `json:"by,omitempty"`
	Through    string `json:"through"` // id of the last turn that is replaced, with all before it
	Turns      int    `json:"turns"`   // how many are replaced by this summary, earlier ones included
	Summary    string `json:"summary"`
	Model      string `json:"model,omitempty"`
	Usage      Usage  `json:"usage"`
	Text       string `json:"text"` // what a person who asked is told
}

// SessionReset begins afresh: what came before is no longer shown to the model.
type SessionReset struct {
	By   string `json:"by"`             // id of the control
	Text string `json:"text,omitempty"` // what the person is told
}

// Spend is what model calls of one day and model have used.
type Spend struct {
	Day      string `json:"day"` // "2006-01-02", UTC
	Model    string `json:"model"`
	Calls    int    `json:"calls"`
	Input    int    `json:"input"`
	Output   int    `json:"output"`
	Cost     int64  `json:"cost"`               // billionths of a US dollar, of the calls whose price was known
	Unpriced int    `json:"unpriced,omitempty"` // tokens of the others
	Silent   int    `json:"silent,omitempty"`   // answers for which the provider reported no tokens
}

// SessionDeleted is the tombstone of a session: what lies below it was purged. Only a new message may follow.
type SessionDeleted struct {
	By      string  `json:"by"`                // who asked for it: "retention", "cli"
	Events  int     `json:"events,omitempty"`  // how many were purged
	Archive string  `json:"archive,omitempty"` // name of the file that has them
	Spent   []Spend `json:"spent,omitzero"`    // so that accounts stay complete
}

// Forked is the first event of a session that begins with the past of another one and then goes on for itself. Its folds
// take what stands in Events as if it had happened here, but for what was under way: a model call is made again, calls
// without a result have none, and what people had allowed is not allowed here.
type Forked struct {
	From session.ID `json:"from"` // the session whose past it is
	At   uint64     `json:"at"`   // cursor of the last event of that past
	By   string     `json:"by"`   // who asked for it: "cli"
	// Model is the one that the session goes on with, "provider/model"; "" leaves it as it was.
	Model string `json:"model,omitempty"`
	// Edited is the one event whose text is another one here than in From.
	Edited *Edit `json:"edited,omitempty"`
	// Events are what a fold has to know of the past, oldest first: lines as `jetclaw events --json` prints them, with the
	// cursors, ids and times that they have in From. Of a session that was itself forked they are those of the session before
	// it, then its own Forked without Events, then its own.
	Events []json.RawMessage `json:"events,omitzero"`
}

// Edit names an event of the past that was edited.
type Edit struct {
	Cursor uint64 `json:"cursor"`
	Kind   string `json:"kind"` // "message.received", "message.edited" or "call.completed"
}

func (Started) EventType() string           { return "turn.started.v1" }
func (Continued) EventType() string         { return "turn.continued.v1" }
func (Resumed) EventType() string           { return "turn.resumed.v1" }
func (Stepped) EventType() string           { return "turn.stepped.v1" }
func (Completed) EventType() string         { return "turn.completed.v1" }
func (Failed) EventType() string            { return "turn.failed.v1" }
func (Cancelled) EventType() string         { return "turn.cancelled.v1" }
func (Overflowed) EventType() string        { return "turn.overflowed.v1" }
func (CompactionStarted) EventType() string { return "compaction.started.v1" }
func (CompactionFailed) EventType() string  { return "compaction.failed.v1" }
func (SessionCompacted) EventType() string  { return "session.compacted.v1" }
func (SessionConfigured) EventType() string { return "session.configured.v1" }
func (SessionReset) EventType() string      { return "session.reset.v1" }
func (SessionDeleted) EventType() string    { return "session.deleted.v1" }
func (Forked) EventType() string            { return "session.forked.v1" }

func (Started) turn()           {}
func (Continued) turn()         {}
func (Resumed) turn()           {}
func (Stepped) turn()           {}
func (Completed) turn()         {}
func (Failed) turn()            {}
func (Cancelled) turn()         {}
func (Overflowed) turn()        {}
func (CompactionStarted) turn() {}
func (CompactionFailed) turn()  {}
func (SessionCompacted) turn()  {}
func (SessionConfigured) turn() {}
func (SessionReset) turn()      {}
func (SessionDeleted) turn()    {}
func (Forked) turn()            {}
