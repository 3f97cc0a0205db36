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
	Rules   string     // digest of what the machine that decided it was configured with; "" for facts and outcomes without one
	Time    time.Time  // by the clock of who appended it, UTC
	Body    Body
	Origin  Origin // of an event that is being appended, for traces; not stored
}

// Origin is where an event comes from in the sense of traces.
type Origin struct {
	Waited bool   // what led to it had to wait, or was tried before: it is linked, and not its parent
	Before string // traceparent of the session's event before it; "" where that is not known
	Span   any    // of who makes traces; nil until Trace is the event's own
	Root   bool   // Trace begins a trace
}

// Type is the wire name of the event.
func (e Event) Type() string { return e.Body.EventType() }

// Kind is the type without its version: "turn.started".
func (e Event) Kind() string { return KindOf(e.Body.EventType()) }

// KindOf cuts the version off a type. A kind is left as it is, also one like "approval.voided".
func KindOf(typ string) string {
	version := strings.LastIndexByte(typ, '.') + 1
	if version < 2 || version+1 >= len(typ) || typ[version] != 'v' {
		return typ
	}
	for i := version + 1; i < len(typ); i++ {
		if typ[i] < '0' || typ[i] > '9' {
			return typ
		}
	}
	return typ[:version-1]
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

// ErrEnvelope says that a stored message is not an event of ours: without a subject, id or chain it cannot be folded.
var ErrEnvelope = errors.New("not an event")

// Decode reads one stored message. Without a subject, an id or a place in its session's chain it is ErrEnvelope; with
// them it is an event, whose body becomes Unknown when the time, the type or the body cannot be read, or when they do
// not belong to the subject.
func Decode(subj string, h Header, data []byte, cursor uint64, body func(typ string, data []byte) (Body, error)) (Event, error) {
	s, err := subject.ParseEvent(subj)
	if err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrEnvelope, err)
	}
	e := Event{ // the subject of a message that was asked for is a header as well
		ID: h.own(HeaderID), Session: session.ID(strings.Clone(string(s.Session))), Cursor: cursor, Cause: h.own(HeaderCause),
		Source: h.shared(HeaderSource), Key: h.own(HeaderKey), Trace: h.own(HeaderTrace), Rules: h.shared(HeaderRules),
	}
	if e.ID == "" {
		return Event{}, fmt.Errorf("%w: event %d has no %s", ErrEnvelope, cursor, HeaderID)
	}
	if e.Prev, err = strconv.ParseUint(h.Get(HeaderPrev), 10, 64); err != nil || e.Prev >= cursor {
		return Event{}, fmt.Errorf("%w: event %d has %s %q", ErrEnvelope, cursor, HeaderPrev, h.Get(HeaderPrev))
	}
	e.Time, e.Body = content(s, h, data, body)
	return e, nil
}

// content is what a fold reads of an event: its time, and its body or Unknown.
func content(s subject.Event, h Header, data []byte, body func(typ string, data []byte) (Body, error)) (time.Time, Body) {
	typ := h.text(HeaderType)
	unknown := func(err error) Body { return Unknown{Type: strings.Clone(typ), Data: data, Err: err} }
	at, err := time.Parse(time.RFC3339Nano, h.Get(HeaderTime))
	if err != nil {
		return time.Time{}, unknown(fmt.Errorf("%s: %w", HeaderTime, err))
	}
	at = at.UTC()
	if !isKind(KindOf(typ), s) {
		return at, unknown(fmt.Errorf("type %q on subject of %q", typ, s.Kind()))
	}
	b, err := body(typ, data)
	if err != nil {
		return at, unknown(err)
	}
	suffix := ""
	if sx, ok := b.(Suffixed); ok {
		suffix = sx.SubjectSuffix()
	}
	if suffix != s.Suffix { // an executor may write only what its subject permits
		return at, unknown(fmt.Errorf("body of %q on subject of %q", suffix, s.Suffix))
	}
	return at, b
}

// isKind is kind == s.Kind() without building it.
func isKind(kind string, s subject.Event) bool {
	noun, verb, ok := strings.Cut(kind, ".")
	return ok && noun == s.Noun && verb == s.Verb
}
