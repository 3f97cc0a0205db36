package cli

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// wanted is which events of the journal are shown: those that are read and that match.
type wanted struct {
	part         bus.ReplayOptions // what is read
	since, until time.Time         // by the events' own times; zero: open
	session      string            // a pattern for full ids; "": any. One session alone is in part
	agent        string            // "": any
	channel      string            // "": any
	types        []string          // patterns, with or without a version; none: any
}

// clocks is how far the clock of who writes an event may be ahead of the clock of the journal.
const clocks = time.Minute

// wanted reads the flags.
func (o eventsOptions) wanted(now time.Time) (w wanted, err error) {
	if w.part, err = o.part(now); err != nil {
		return w, err
	}
	if isGlob(o.session) {
		w.session = o.session
	}
	w.agent, w.channel, w.types = o.agent, o.channel, o.types
	switch {
	case slices.Contains(o.types, ""):
		return w, usagef("--type is empty; it takes a type of event (turn.completed) or a pattern (turn.*)")
	case o.limit < 0:
		return w, usagef("--limit %d: a number of events, or 0 for all", o.limit)
	case o.last < 0:
		return w, usagef("--last %d: a number of events, or 0 for all", o.last)
	case o.limit > 0 && o.last > 0:
		return w, usagef("--limit is for the first and --last for the newest: give one of the two")
	case o.until != "" && o.follow:
		return w, usagef("--until ends, and --follow goes on: give one of the two")
	}
	if w.since = w.part.Since; !w.since.IsZero() {
		w.part.Since = w.since.Add(-clocks)
	}
	return w, w.end(o, now)
}

// end reads --until.
func (w *wanted) end(o eventsOptions, now time.Time) error {
	if o.until == "" {
		return nil
	}
	m, err := parseMoment("until", o.until, now)
	if err != nil {
		return err
	}
	w.part.To, w.until = m.cursor, m.at
	if m.day {
		w.until = m.at.AddDate(0, 0, 1).Add(-1)
	}
	switch {
	case m.at.IsZero() && m.cursor == 0:
		return usagef("--until 0: the first event has cursor 1")
	case w.part.To > 0 && w.part.From > w.part.To, !w.until.IsZero() && w.since.After(w.until):
		return usagef("nothing lies between --since %s and --until %s", o.since, o.until)
	}
	return nil
}

// part reads which part of the journal is meant by --session and --since.
func (o eventsOptions) part(now time.Time) (r bus.ReplayOptions, err error) {
	if o.session != "" && !isGlob(o.session) {
		if r.Session, err = parseSession(o.session); err != nil {
			return r, err
		}
	}
	if o.since == "" {
		return r, nil
	}
	m, err := parseMoment("since", o.since, now)
	if err != nil {
		return r, err
	}
	if r.Since = m.at; m.at.IsZero() {
		r.From = m.cursor + 1
	}
	return r, nil
}

// moment is a place in the journal.
type moment struct {
	cursor uint64    // where at is zero
	at     time.Time //
	day    bool      // at is the beginning of a day that is meant as a whole
}

// parseMoment reads a cursor, a time or how long ago; times without a zone are in that of now.
func parseMoment(flag, text string, now time.Time) (m moment, err error) {
	if m.cursor, err = strconv.ParseUint(text, 10, 63); err == nil {
		return m, nil
	}
	m.cursor = 0
	if d, err := parseSpan(text); err == nil && d >= 0 {
		m.at = now.Add(-d)
		return m, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if m.at, err = time.ParseInLocation(layout, text, now.Location()); err == nil {
			m.day = layout == time.DateOnly
			return m, nil
		}
	}
	return m, usagef("--%s %s is neither a cursor (4711) nor a duration (10m, 24h, 5d) nor a time (\"2006-01-02 15:04\", 2006-01-02, "+
		"2006-01-02T15:04:05Z)", flag, text)
}

// match says whether an event that was read is shown.
func (w wanted) match(e envelope.Event) bool {
	// An event whose time cannot be read is shown: else what is broken could not be seen.
	timed := !e.Time.IsZero()
	switch {
	case w.agent != "" && e.Session.Agent() != w.agent, w.channel != "" && e.Session.Channel() != w.channel:
		return false
	case w.session != "" && !glob(w.session, string(e.Session)):
		return false
	case timed && !w.since.IsZero() && e.Time.Before(w.since), timed && !w.until.IsZero() && e.Time.After(w.until):
		return false
	}
	return len(w.types) == 0 || anyType(w.types, e.Type())
}

// anyType says whether one of the patterns fits a type.
func anyType(patterns []string, typ string) bool {
	for _, p := range patterns {
		if glob(p, typ) || glob(p, envelope.KindOf(typ)) {
			return true
		}
	}
	return false
}

func isGlob(text string) bool { return strings.ContainsAny(text, "*?") }

// glob says whether a text fits a pattern, in which * stands for any text and ? for any byte.
func glob(pattern, text string) bool {
	p, star, again := 0, -1, 0 // star: where the last * is; again: what it covers so far
	for t := 0; t < len(text); {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, again = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0: // it covers one more
			again++
			p, t = star+1, again
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
