// Package callv1 has the events that end a tool call. Who dispatches and runs calls adds its own beside them.
package callv1

import "github.com/jetclaw/jetclaw/schemas/envelope"

// Event is the sealed set of this package.
//
//sumtype:decl
type Event interface {
	envelope.Body
	call()
}

// Outcome of a call.
type Outcome string

const (
	OK      Outcome = "ok"
	Error   Outcome = "error"   // the tool ran and says that it failed
	Unknown Outcome = "unknown" // it may have run: its worker died in between
)

// Completed is the result of a call, appended by the executor that ran it.
type Completed struct {
	Executor string  `json:"executor"`
	Turn     string  `json:"turn"`
	Call     string  `json:"call"`
	Outcome  Outcome `json:"outcome"`
	Content  string  `json:"content"` // what the model is shown; untrusted
}

// Denied says that the call was not allowed; the model is told why.
type Denied struct {
	Turn   string `json:"turn"`
	Call   string `json:"call"`
	Reason string `json:"reason"`
}

func (Completed) EventType() string       { return "call.completed.v1" }
func (c Completed) SubjectSuffix() string { return c.Executor }
func (Denied) EventType() string          { return "call.denied.v1" }

func (Completed) call() {}
func (Denied) call()    {}
