// Package envelope is what surrounds every event of the journal: CloudEvents 1.0 attributes in binary mode (headers
// ce-*), a W3C traceparent, the id of what caused it, and the cursor of the event before it in its session.
package envelope

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Header names. The ce- ones follow the CloudEvents NATS protocol binding.
const (
	HeaderID     = "ce-id"
	HeaderType   = "ce-type"
	HeaderSource = "ce-source"
	HeaderSpec   = "ce-specversion"
	HeaderTime   = "ce-time"
	HeaderTrace  = "traceparent"
	HeaderCause  = "jc-cause"
	HeaderPrev   = "jc-prev"
	HeaderKey    = "jc-key"
	HeaderBlob   = "jc-blob"

	specVersion = "1.0"
)

// Body is the payload of an event. Each schemas/*v1 package has a sealed set of them.
type Body interface {
	// EventType is "<noun>.<verb>.v<N>", as in "turn.started.v1".
	EventType() string
}

// Suffixed bodies go to a subject with a last token: the executor or the service that they belong to.
type Suffixed interface {
	Body
	SubjectSuffix() string
}

// Event is one committed fact, or one about to be appended (then Cursor is 0).
type Event struct {
	ID      string     // unique for each append attempt, reused by its retries
	Session session.ID //
	Cursor  uint64     // stream sequence
	Prev    uint64     // cursor of the session's event before this one; 0 for the first
	Cause   string     // ID of the event or request that led to it
	Source  string     // "<service>/<instance>" that appended it
	Key     string     // the source's own key of a fact from outside; "" for decisions
	Trace   string     // traceparent, or ""
	Time    time.Time  // by the clock of who appended it, UTC
	Body    Body
}

// Type is the wire name of the event.
func (e Event) Type() string { return e.Body.EventType() }

// Kind is the type without its version: "turn.started".
func (e Event) Kind() string { return KindOf(e.Body.EventType()) }

// KindOf cuts the version off a type.
func KindOf(typ string) string {
	if i := strings.LastIndex(typ, ".v"); i > 0 {
		return typ[:i]
	}
	return typ
}

// Subject is where the event is stored.
func (e Event) Subject() string {
	suffix := ""
	if s, ok := e.Body.(Suffixed); ok {
		suffix = s.SubjectSuffix()
	}
	return subject.OfEvent(e.Session, e.Kind(), suffix)
}

// Unknown is the body of an event that today's code cannot decode. Folds pass it by; its doorbell is quarantined.
type Unknown struct {
	Type string
	Data []byte
	Err  error
}

// EventType is the type on the wire.
func (u Unknown) EventType() string { return u.Type }

// Header has the form of a NATS header: case-sensitive names, lists of values.
type Header map[string][]string

// Get is the first value of a name, or "".
func (h Header) Get(name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// HeaderOf writes the envelope of e.
func HeaderOf(e Event) Header {
	h := Header{
		HeaderID:     {e.ID},
		HeaderType:   {e.Type()},
		HeaderSource: {e.Source},
		HeaderSpec:   {specVersion},
		HeaderTime:   {e.Time.UTC().Format(time.RFC3339Nano)},
		HeaderPrev:   {strconv.FormatUint(e.Prev, 10)},
	}
	for name, v := range map[string]string{HeaderCause: e.Cause, HeaderTrace: e.Trace, HeaderKey: e.Key} {
		if v != "" {
			h[name] = []string{v}
		}
	}
	return h
}

// ErrEnvelope says that a stored message is not an event of ours: without a subject, id or chain it cannot be folded.
var ErrEnvelope = errors.New("not an event")

// Decode reads one stored message. A body that body cannot decode becomes Unknown; only a broken envelope is an error.
func Decode(subj string, h Header, data []byte, cursor uint64, body func(typ string, data []byte) (Body, error)) (Event, error) {
	s, err := subject.ParseEvent(subj)
	if err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrEnvelope, err)
	}
	e := Event{
		ID: h.Get(HeaderID), Session: s.Session, Cursor: cursor, Cause: h.Get(HeaderCause),
		Source: h.Get(HeaderSource), Key: h.Get(HeaderKey), Trace: h.Get(HeaderTrace),
	}
	if e.ID == "" {
		return Event{}, fmt.Errorf("%w: event %d has no %s", ErrEnvelope, cursor, HeaderID)
	}
	if e.Prev, err = strconv.ParseUint(h.Get(HeaderPrev), 10, 64); err != nil || e.Prev >= cursor {
		return Event{}, fmt.Errorf("%w: event %d has %s %q", ErrEnvelope, cursor, HeaderPrev, h.Get(HeaderPrev))
	}
	typ := h.Get(HeaderType)
	if e.Time, err = time.Parse(time.RFC3339Nano, h.Get(HeaderTime)); err != nil {
		e.Body = Unknown{Type: typ, Data: data, Err: fmt.Errorf("%s: %w", HeaderTime, err)}
		return e, nil
	}
	if KindOf(typ) != s.Kind() {
		e.Body = Unknown{Type: typ, Data: data, Err: fmt.Errorf("type %q on subject of %q", typ, s.Kind())}
		return e, nil
	}
	if e.Body, err = body(typ, data); err != nil {
		e.Body = Unknown{Type: typ, Data: data, Err: err}
		return e, nil
	}
	suffix := ""
	if sx, ok := e.Body.(Suffixed); ok {
		suffix = sx.SubjectSuffix()
	}
	if suffix != s.Suffix { // an executor may write only what its subject permits
		e.Body = Unknown{Type: typ, Data: data, Err: fmt.Errorf("body of %q on subject of %q", suffix, s.Suffix)}
	}
	return e, nil
}
