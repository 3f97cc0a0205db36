// Package subject builds and parses every subject, stream, bucket and consumer name of jetclaw. No other package
// spells one out.
//
//	ev.<vp>.<agent>.<channel>.<account>.<peer>.<noun>.<verb>[.<suffix>]   one event of the journal
//	tail.<the same>                                                     the copy that the server publishes once stored
//	timer.<service>.<session>                                           a timer that rings
//	live.<session>                                                      deltas, typing: lossy
//	worker.<service>.<instance>                                         asks and nudges to one running worker
//	svc.<service>.<verb>                                                a question that wants an answer
//	sys.<service>.<item>.<verb>                                         what happened to a server or a connection
package subject

import (
	"errors"
	"fmt"
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
	Suffix  string // the executor or service, unescaped; "" for most events
}

// Kind is noun and verb, as in "turn.started".
func (e Event) Kind() string { return e.Noun + "." + e.Verb }

// ErrSubject says that a subject is not one of an event.
var ErrSubject = errors.New("not an event's subject")

// OfEvent builds the subject of an event. kind is "<noun>.<verb>"; suffix may be "".
func OfEvent(s session.ID, kind, suffix string) string {
	if suffix != "" {
		suffix = "." + session.Escape(suffix)
	}
	return family(eventRoot, s, kind, suffix)
}

// family is "<root>.<vp>.<session>.<rest…>", in one allocation.
func family(root string, s session.ID, rest, suffix string) string {
	vp := s.Partition()
	var b strings.Builder
	b.Grow(len(root) + len(s) + len(rest) + len(suffix) + 5)
	b.WriteString(root)
	b.Write([]byte{'.', byte('0' + vp/10), byte('0' + vp%10), '.'})
	b.WriteString(string(s))
	b.WriteByte('.')
	b.WriteString(rest)
	b.WriteString(suffix)
	return b.String()
}

// ParseEvent is the inverse of OfEvent; it accepts exactly what OfEvent builds.
func ParseEvent(subj string) (Event, error) { return parse(eventRoot, subj) }

// ParseTail reads the subject of a republished copy.
func ParseTail(subj string) (Event, error) { return parse(tailRoot, subj) }

// Partition is the virtual partition that the subject of an event names, 0 to 63, without reading the rest of it; any number
// of these for what is no such subject. All events of a session have one.
func Partition(subj string) int {
	if at := strings.IndexByte(subj, '.'); at >= 0 && len(subj) > at+2 {
		return (int(subj[at+1])*10 + int(subj[at+2])) & 63
	}
	return 0
}

func parse(root, subj string) (Event, error) {
	var dots [8]int // at the end of the tokens; a suffix ends with the subject
	n := 0
	for i := range len(subj) {
		if subj[i] != '.' {
			continue
		}
		if n == len(dots) {
			return Event{}, fmt.Errorf("%q: %w", subj, ErrSubject)
		}
		dots[n] = i
		n++
	}
	if n == 7 {
		dots[7] = len(subj)
	}
	if n < 7 || subj[:dots[0]] != root {
		return Event{}, fmt.Errorf("%q: %w", subj, ErrSubject)
	}
	id, err := session.Parse(subj[dots[1]+1 : dots[5]])
	if err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrSubject, err)
	}
	if vp, want := subj[dots[0]+1:dots[1]], id.Partition(); len(vp) != 2 || vp[0] != byte('0'+want/10) || vp[1] != byte('0'+want%10) {
		return Event{}, fmt.Errorf("%q: %w: partition %q, want %02d", subj, ErrSubject, vp, want)
	}
	e := Event{Session: id, Noun: subj[dots[5]+1 : dots[6]], Verb: subj[dots[6]+1 : dots[7]]}
	if !word(e.Noun) || !word(e.Verb) {
		return Event{}, fmt.Errorf("%q: %w: noun and verb are lower-case words", subj, ErrSubject)
	}
	if n == 8 {
		token := subj[dots[7]+1:]
		raw, err := session.Unescape(token)
		if err != nil || raw == "" || session.Escape(raw) != token {
			return Event{}, fmt.Errorf("%q: %w: suffix %q", subj, ErrSubject, token)
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
func OfSession(s session.ID) string { return family(eventRoot, s, ">", "") }

// TailOfSession is the filter of the republished copies of one session's events.
func TailOfSession(s session.ID) string { return family(tailRoot, s, ">", "") }

// OfKind is the filter of one kind of event in all sessions. A kind with a suffix is written "call.completed.*" or
// "call.completed.builtin".
func OfKind(kind string) string { return eventRoot + ".*.*.*.*.*." + kind }

// OfBell is the filter of a doorbell: of a kind, as OfKind, or of "kind@channel", the kind in sessions of one channel.
func OfBell(bell string) string {
	kind, channel, one := strings.Cut(bell, "@")
	if !one {
		return OfKind(kind)
	}
	return eventRoot + ".*.*." + session.Escape(channel) + ".*.*." + kind
}

// TailOfKind is OfKind for the republished copies.
func TailOfKind(kind string) string { return tailRoot + ".*.*.*.*.*." + kind }

// TailOfChannel is TailOfKind for the sessions of one channel.
func TailOfChannel(channel, kind string) string {
	return tailRoot + ".*.*." + session.Escape(channel) + ".*.*." + kind
}

// Timer is the subject on which a timer of a service rings for a session.
func Timer(service string, s session.ID) string { return timerRoot + "." + service + "." + string(s) }

// TimersOf is the filter of all timers of a service.
func TimersOf(service string) string { return timerRoot + "." + service + ".>" }

// ErrTimer says that a subject is not one of a timer.
var ErrTimer = errors.New("not a timer's subject")

// ParseTimer is the inverse of Timer. A service's name is a lower-case word.
func ParseTimer(subj string) (service string, s session.ID, err error) {
	root, rest, _ := strings.Cut(subj, ".")
	service, id, _ := strings.Cut(rest, ".")
	if root != timerRoot || !word(service) {
		return "", "", fmt.Errorf("%q: %w", subj, ErrTimer)
	}
	if s, err = session.Parse(id); err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrTimer, err)
	}
	return service, s, nil
}

// Schedule is the subject under which a timer is stored until it rings.
func Schedule(service string, s session.ID) string { return "schedule." + service + "." + string(s) }

// SchedulesOf is the filter of all stored timers of a service.
func SchedulesOf(service string) string { return "schedule." + service + ".>" }

// Live is the lossy subject of a session: deltas, typing.
func Live(s session.ID) string { return liveRoot + "." + string(s) }

// LiveOfChannel is the filter of what is published on Live for the sessions of one channel.
func LiveOfChannel(channel string) string { return liveRoot + ".*." + session.Escape(channel) + ".*.*" }

// ParseLive is the inverse of Live.
func ParseLive(subj string) (session.ID, error) {
	rest, ok := strings.CutPrefix(subj, liveRoot+".")
	if !ok {
		return "", fmt.Errorf("%q is not the subject of a live message", subj)
	}
	return session.Parse(rest)
}

// Worker is the inbox of one running worker of a service.
func Worker(service, instance string) string { return workerRoot + "." + service + "." + instance }

// WorkersOf is the filter of all workers of a service.
func WorkersOf(service string) string { return workerRoot + "." + service + ".*" }

// OfSystem is the subject of what happens to a thing of a service: a server, a connection.
func OfSystem(service, item, verb string) string {
	return sysRoot + "." + service + "." + session.Escape(item) + "." + verb
}

// SystemOf is the filter of all that happens to a thing of a service; with "*" to all of its things.
func SystemOf(service, item string) string {
	if item != "*" {
		item = session.Escape(item)
	}
	return sysRoot + "." + service + "." + item + ".>"
}

// ParseSystem is the inverse of OfSystem.
func ParseSystem(subj string) (service, item, verb string, err error) {
	tokens := strings.Split(subj, ".")
	if len(tokens) != 4 || tokens[0] != sysRoot || !word(tokens[1]) || !word(tokens[3]) {
		return "", "", "", fmt.Errorf("%q is not the subject of something that happened to a server", subj)
	}
	if item, err = session.Unescape(tokens[2]); err != nil {
		return "", "", "", fmt.Errorf("%q: %w", subj, err)
	}
	return tokens[1], item, tokens[3], nil
}

// SystemOfService is the filter of all that a service tells in the stream SYS.
func SystemOfService(service string) string { return sysRoot + "." + service + ".>" }

// Executor is the name of an executor that a service runs beside itself. It is the suffix of its events, the name of its consumer
// and of its catalogue; the service is what stands before the first hyphen.
func Executor(service, name string) string { return service + "-" + name }

// ExecutorService is the service of an executor's, or a service's, consumer.
func ExecutorService(consumer string) string {
	service, _, _ := strings.Cut(consumer, "-")
	return service
}

// Service is the subject of a question to a service.
func Service(service, verb string) string { return svcRoot + "." + service + "." + verb }
