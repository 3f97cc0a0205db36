package thread

import (
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
)

// maxPermissions bounds how many questions of programs a session has open; the oldest can then no longer be answered.
const maxPermissions = 16

// Permission is a question of a program outside that waits for an owner's answer.
type Permission struct {
	Request string    `json:"request"` // id
	Notice  string    `json:"notice"`  // id of the event that asks it
	Expires time.Time `json:"expires"` // nobody waits any more, at this instant too
}

// requestLetters are those of the id of a question: a to z without l.
const requestLetters = 5

// requestID is the id that a person has written, in lower case; "" when it has not the form of one. ASCII only: other letters
// that fold to these are not theirs.
func requestID(s string) string {
	if len(s) != requestLetters {
		return ""
	}
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' || c == 'l' {
			return ""
		}
	}
	return strings.ToLower(s)
}

// AnswerOf is the answer to a program's question that a message would be if that question is open; false for one that is
// something else, or whose words are not its sender's alone.
func AnswerOf(b messagev1.Received) (messagev1.PermissionAnswer, bool) {
	word, rest := firstWord(b.Text)
	a := messagev1.PermissionAnswer{From: b.From, Request: requestID(rest)}
	if a.Request == "" || b.Forwarded != "" || len(b.Files) > 0 {
		return messagev1.PermissionAnswer{}, false
	}
	switch len(word) { // in bytes: no other letters that fold to these
	case len("yes"):
		a.Allow = strings.EqualFold(word, "yes")
		return a, a.Allow
	case len("no"):
		return a, strings.EqualFold(word, "no")
	}
	return messagev1.PermissionAnswer{}, false
}

// Waits is the event by which a program has asked a question of this session that it waits for an answer to; "" when none does.
func (s State) Waits(request string, now time.Time) (notice string) {
	i := slices.IndexFunc(s.permissions, func(p Permission) bool { return p.Request == request && now.Before(p.Expires) })
	if i < 0 {
		return ""
	}
	return s.permissions[i].Notice
}

// askedFor opens a question. One with a known id takes the place of the first: a person answers the last that they were shown.
func (s State) askedFor(e envelope.Event, p noticev1.Permission) State {
	kept := slices.DeleteFunc(slices.Clone(s.permissions), func(o Permission) bool {
		return o.Request == p.Request || !e.Time.Before(o.Expires)
	})
	kept = append(kept, Permission{Request: p.Request, Notice: e.ID, Expires: p.Expires.UTC().Round(0)}) // as a snapshot keeps it
	s.permissions = kept[max(0, len(kept)-maxPermissions):]
	return s
}

// answeredTo closes a question: the first answer counts.
func (s State) answeredTo(request string) State {
	if !slices.ContainsFunc(s.permissions, func(o Permission) bool { return o.Request == request }) {
		return s
	}
	s.permissions = slices.DeleteFunc(slices.Clone(s.permissions), func(o Permission) bool { return o.Request == request })
	if len(s.permissions) == 0 {
		s.permissions = nil // one form of nothing
	}
	return s
}
