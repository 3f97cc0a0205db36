// Package subject builds and parses every subject, stream, bucket and consumer name of jetclaw. No other package
// spells one out.
//
//	ev.<vp>.<agent>.<channel>.<account>.<peer>.<noun>.<verb>[.<suffix>]   one event of the journal
//	tail.<the same>                                                     the copy that the server publishes once stored
//	timer.<service>.<session>                                           a timer that rings
//	live.<session>                                                      deltas, typing: lossy
//	worker.<service>.<instance>                                         asks and nudges to one running worker
//	svc.<service>.<verb>                                                a question that wants an answer
package subject

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/session"
)

// Streams, buckets and stores.
const (
	Journal  = "EV"     // every event
	Timers   = "TIMERS" // scheduled messages
	System   = "SYS"    // what happens to servers and connections, not to a conversation
	Dead     = "DEAD"   // advisories about doorbells that were given up
	Snap     = "snap"   // KV: folded states, rebuildable
	Catalog  = "catalog"
	Settings = "settings"
	Blobs    = "blobs" // object store: bodies above the claim-check size
)

// Roots of the subject families, without the trailing dot.
const (
	eventRoot  = "ev"
	tailRoot   = "tail"
	timerRoot  = "timer"
	liveRoot   = "live"
	workerRoot = "worker"
	svcRoot    = "svc"
	sysRoot    = "sys"
)

// JournalAll and its kin are the filters of whole families.
const (
	JournalAll = eventRoot + ".>"
	TailAll    = tailRoot + ".>"
	TimerAll   = timerRoot + ".>"
	SystemAll  = sysRoot + ".>"
	LiveAll    = liveRoot + ".>"
)

// TimerStoreAll is where timers are kept until they ring: schedules and their targets are subjects of one stream.
const TimerStoreAll = "schedule.>"

// Event is the parsed subject of one event.
type Event struct {
	Session session.ID
	Noun    string // message, turn, call…
	Verb    string // received, started…
	Suffix  string // the executor or service, escaped; "" for most events
}

// Kind is noun and verb, as in "turn.started".
func (e Event) Kind() string { return e.Noun + "." + e.Verb }

// ErrSubject says that a subject is not one of an event.
var ErrSubject = errors.New("not an event's subject")

// OfEvent builds the subject of an event. kind is "<noun>.<verb>"; suffix may be "".
func OfEvent(s session.ID, kind, suffix string) string {
	b := append(prefix(eventRoot, s), kind...)
	if suffix != "" {
		b = append(b, '.')
		b = append(b, session.Escape(suffix)...)
	}
	return string(b)
}

func prefix(root string, s session.ID) []byte {
	b := make([]byte, 0, len(root)+len(s)+48)
	b = append(b, root...)
	b = append(b, '.')
	vp := s.Partition()
	b = append(b, byte('0'+vp/10), byte('0'+vp%10), '.')
	b = append(b, s...)
	return append(b, '.')
}

// ParseEvent is the inverse of OfEvent; it accepts exactly what OfEvent builds.
func ParseEvent(subj string) (Event, error) { return parse(eventRoot, subj) }

// ParseTail reads the subject of a republished copy.
func ParseTail(subj string) (Event, error) { return parse(tailRoot, subj) }

func parse(root, subj string) (Event, error) {
	p := strings.Split(subj, ".")
	if len(p) != 8 && len(p) != 9 || p[0] != root {
		return Event{}, fmt.Errorf("%q: %w", subj, ErrSubject)
	}
	id, err := session.Parse(strings.Join(p[2:6], "."))
	if err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrSubject, err)
	}
	if vp, err := strconv.Atoi(p[1]); err != nil || len(p[1]) != 2 || vp != id.Partition() {
		return Event{}, fmt.Errorf("%q: %w: partition %q, want %02d", subj, ErrSubject, p[1], id.Partition())
	}
	if !word(p[6]) || !word(p[7]) {
		return Event{}, fmt.Errorf("%q: %w: noun and verb are lower-case words", subj, ErrSubject)
	}
	e := Event{Session: id, Noun: p[6], Verb: p[7]}
	if len(p) == 9 {
		raw, err := session.Unescape(p[8])
		if err != nil || raw == "" || session.Escape(raw) != p[8] {
			return Event{}, fmt.Errorf("%q: %w: suffix %q", subj, ErrSubject, p[8])
		}
		e.Suffix = raw
	}
	return e, nil
}

func word(s string) bool {
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return s != ""
}

// OfSession is the filter of all events of one session; compare-and-set is over it.
func OfSession(s session.ID) string { return string(prefix(eventRoot, s)) + ">" }

// TailOfSession is the filter of the republished copies of one session's events.
func TailOfSession(s session.ID) string { return string(prefix(tailRoot, s)) + ">" }

// OfKind is the filter of one kind of event in all sessions. A kind with a suffix is written "call.completed.*" or
// "call.completed.builtin".
func OfKind(kind string) string { return eventRoot + ".*.*.*.*.*." + kind }

// TailOfKind is OfKind for the republished copies.
func TailOfKind(kind string) string { return tailRoot + ".*.*.*.*.*." + kind }

// Timer is the subject on which a timer of a service rings for a session.
func Timer(service string, s session.ID) string { return timerRoot + "." + service + "." + string(s) }

// TimersOf is the filter of all timers of a service.
func TimersOf(service string) string { return timerRoot + "." + service + ".>" }

// ParseTimer is the inverse of Timer.
func ParseTimer(subj string) (service string, s session.ID, err error) {
	p := strings.SplitN(subj, ".", 3)
	if len(p) != 3 || p[0] != timerRoot || p[1] == "" {
		return "", "", fmt.Errorf("%q is not a timer's subject", subj)
	}
	if s, err = session.Parse(p[2]); err != nil {
		return "", "", err
	}
	return p[1], s, nil
}

// Schedule is the subject under which a timer is stored until it rings.
func Schedule(service string, s session.ID) string { return "schedule." + service + "." + string(s) }

// SchedulesOf is the filter of all stored timers of a service.
func SchedulesOf(service string) string { return "schedule." + service + ".>" }

// Live is the lossy subject of a session: deltas, typing.
func Live(s session.ID) string { return liveRoot + "." + string(s) }

// Worker is the inbox of one running worker of a service.
func Worker(service, instance string) string { return workerRoot + "." + service + "." + instance }

// WorkersOf is the filter of all workers of a service.
func WorkersOf(service string) string { return workerRoot + "." + service + ".*" }

// Service is the subject of a question to a service.
func Service(service, verb string) string { return svcRoot + "." + service + "." + verb }
