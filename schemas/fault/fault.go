// Package fault says what kind of trouble an error is, so that a border (HTTP status, exit code, micro error code) can
// be crossed without reading texts.
package fault

import (
	"errors"
	"fmt"
)

// Kind is a class of trouble. The set is closed; a border maps each of them.
type Kind string

const (
	Invalid     Kind = "invalid"     // the request can never succeed as it is
	TooLarge    Kind = "too_large"   // over a size limit
	Denied      Kind = "denied"      // the caller may not
	NotFound    Kind = "not_found"   // no such thing
	Conflict    Kind = "conflict"    // somebody else was first; decide again
	Full        Kind = "full"        // the journal has no room; later perhaps
	Busy        Kind = "busy"        // a limit on open work; later
	Unavailable Kind = "unavailable" // a part cannot be reached; later
	Timeout     Kind = "timeout"     // no answer in time; the outcome may be unknown
	Internal    Kind = "internal"    // ours
)

// Error is a fault with a text for a person: what is wrong, where, what to do. It never holds a secret.
type Error struct {
	Kind Kind   `json:"kind"`
	Text string `json:"error"`
	err  error
}

func (e *Error) Error() string { return e.Text }
func (e *Error) Unwrap() error { return e.err }

// New makes a fault of a kind. What the format wraps with %w, once or more, stays reachable by errors.Is and errors.As.
func New(k Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: k, Text: err.Error(), err: err}
}

// KindOf is the kind of the outermost fault in err, Internal when there is none, "" for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	if f, ok := errors.AsType[*Error](err); ok {
		return f.Kind
	}
	return Internal
}
