// Package tool is what the builtin executor and its tools exchange: an entry of the catalogue with the function behind it.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

// Tool is one tool and what it does.
type Tool struct {
	toolv1.Tool
	// Run carries out one call. Its arguments fit the tool's schema. An error is the tool's own failure, in words that the
	// model can act on and without paths outside of the workspace; a *Refusal says that nothing was done at all. ctx ends at
	// the call's time limit or when its turn is cancelled: Run then stops what it has begun, all of it, and returns.
	Run func(ctx context.Context, c Call) (Result, error)
}

// Call is one call.
type Call struct {
	Session   session.ID
	Workspace string // folder of the agent, absolute; "" when it has none
	Arguments json.RawMessage
	// Allowed says that a person has allowed this very call, or "always" one like it. What a tool finds out to be more than
	// its arguments told (a link that leads to a prompt file) needs it.
	Allowed bool
	Files   []callv1.File // as they were when it was decided
}

// Read decodes the arguments.
func Read[A any](c Call) (A, error) {
	var a A
	if err := json.Unmarshal(c.Arguments, &a); err != nil {
		return a, Refuse("the arguments cannot be read: %v", err)
	}
	return a, nil
}

// Result is what came of a call.
type Result struct {
	Text      string // valid UTF-8; what the model is shown, at most MaxText bytes
	Cut       int64  // bytes of the result that Text leaves out; Text says how to get them, where that is possible
	Failed    bool   // the tool ran and says that it failed: a command that exits with 1
	Untrusted bool   // text from outside
	Private   bool   // about the person
}

// MaxText bounds a result, in bytes.
const MaxText = 256 << 10

// Refusal says that a call was not carried out.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return r.Reason }

// Refuse makes a Refusal.
func Refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// IsRefusal says whether err is one.
func IsRefusal(err error) bool {
	_, ok := errors.AsType[*Refusal](err)
	return ok
}
