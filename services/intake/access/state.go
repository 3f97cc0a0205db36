package access

import (
	"slices"
	"strconv"
	"time"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// Version names the form of State and the meaning of Apply; snapshots of another version are dropped.
// It is no other machine's: they all keep snapshots in one place.
const Version = "access-1"

// State is the fold of accessv1.Session; in the zero value nobody was let in. It is a value: slices are never written to
// once they are in one, and nil when they are empty.
type State struct {
	people   []Person  // oldest first; one a door and identity
	requests []Request // oldest first; one a door and identity
	moves    []move    // oldest first; one a door and new number, without circles
}

// Person is somebody who was let in at a door.
type Person struct {
	accessv1.Door
	Who    string    `json:"who"`
	Name   string    `json:"name,omitempty"` // untrusted
	Owner  bool      `json:"owner,omitempty"`
	By     string    `json:"by"`
	Since  time.Time `json:"since"`
	Code   string    `json:"code,omitempty"` // by which they were let in; "" when there was none
	Cursor uint64    `json:"cursor"`         // of the event that let them in
}

// Request is somebody's wish to be let in at a door.
type Request struct {
	accessv1.Door
	Who     string    `json:"who"`
	Name    string    `json:"name,omitempty"` // untrusted
	Code    string    `json:"code"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
	Key     string    `json:"key,omitempty"` // of the attempt that it came from
}

// Open says whether the request can still be approved. At the very instant of its end it cannot.
func (r Request) Open(now time.Time) bool { return now.Before(r.Expires) }

// move is a group that has got another number.
type move struct {
	Door accessv1.Door `json:"door"`
	From int64         `json:"from"`
	To   int64         `json:"to"`
}

// Apply folds one committed event.
func (s State) Apply(e envelope.Event) State {
	switch b := e.Body.(type) {
	case accessv1.Requested:
		r := Request{Door: b.Door, Who: b.Who, Name: b.Name, Code: b.Code, Since: e.Time, Expires: b.Expires, Key: e.Key}
		s.requests = append(without(s.requests, ofRequest(b.Door, b.Who)), r)
	case accessv1.Granted:
		s = s.granted(b, e)
	case accessv1.Revoked:
		s.people = without(s.people, ofPerson(b.Door, b.Who))
		s.requests = without(s.requests, ofRequest(b.Door, b.Who))
		s.people = s.disowned(b.Who)
	case accessv1.Moved:
		if m, ok := s.moving(b); ok {
			s.moves = append(slices.Clip(s.moves), m)
		}
	default:
		return s
	}
	s.requests = without(s.requests, func(r Request) bool { return !r.Open(e.Time) })
	return s
}

// granted lets somebody in, or makes who is in already an owner.
func (s State) granted(b accessv1.Granted, e envelope.Event) State {
	p := Person{Door: b.Door, Who: b.Who, Name: b.Name, Owner: b.Owner, By: b.By, Since: e.Time, Cursor: e.Cursor}
	if i := slices.IndexFunc(s.requests, ofRequest(b.Door, b.Who)); i >= 0 {
		p.Code = s.requests[i].Code
		s.requests = without(s.requests, ofRequest(b.Door, b.Who))
	}
	i := slices.IndexFunc(s.people, ofPerson(b.Door, b.Who))
	if i < 0 {
		s.people = append(slices.Clip(s.people), p)
		return s
	}
	known := s.people[i]
	known.Owner = known.Owner || p.Owner
	if p.Name != "" {
		known.Name = p.Name
	}
	if p.Code != "" {
		known.Code = p.Code
	}
	s.people = slices.Clone(s.people)
	s.people[i] = known
	return s
}

// disowned are the people with somebody an owner no more, at any door: owners are identities (accessv1.Owners).
func (s State) disowned(who string) []Person {
	owns := func(p Person) bool { return p.Who == who && p.Owner }
	if !slices.ContainsFunc(s.people, owns) {
		return s.people
	}
	people := slices.Clone(s.people)
	for i, p := range people {
		if owns(p) {
			people[i].Owner = false
		}
	}
	return people
}

// moving reads a move, and says whether it adds anything. The first one to a number counts; a circle is none.
func (s State) moving(b accessv1.Moved) (move, bool) {
	m := move{Door: b.Door, From: group(b.From), To: group(b.To)}
	if m.From == 0 || m.To == 0 || m.From == m.To {
		return m, false
	}
	if _, known := s.movedFrom(m.Door, m.To); known {
		return m, false
	}
	return m, s.root(m.Door, m.From) != m.To
}

// group is the number of a group, 0 for what is none.
func group(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n >= 0 {
		return 0
	}
	return n
}

// movedFrom is the number that a group had before.
func (s State) movedFrom(d accessv1.Door, chat int64) (int64, bool) {
	i := slices.IndexFunc(s.moves, func(m move) bool { return m.Door == d && m.To == chat })
	if i < 0 {
		return 0, false
	}
	return s.moves[i].From, true
}

// root is the first number that a group had: its conversation goes on under that. It ends: moves have no circle.
func (s State) root(d accessv1.Door, chat int64) int64 {
	for {
		from, ok := s.movedFrom(d, chat)
		if !ok {
			return chat
		}
		chat = from
	}
}

// Person is somebody who was let in at a door and not sent away since.
func (s State) Person(d accessv1.Door, who string) (Person, bool) {
	return first(s.people, ofPerson(d, who))
}

// Request is the last one with a code. It may have expired.
func (s State) Request(code string) (Request, bool) {
	return first(s.requests, func(r Request) bool { return sameCode(r.Code, code) })
}

// Approved is who was let in by a code.
func (s State) Approved(code string) (Person, bool) {
	return first(s.people, func(p Person) bool { return sameCode(p.Code, code) })
}

// Taken says that a code stands for somebody already.
func (s State) Taken(code string) bool {
	_, asked := s.Request(code)
	_, in := s.Approved(code)
	return asked || in
}

// People are all who were let in, oldest first.
func (s State) People() []Person { return slices.Clone(s.people) }

// Requests are those that are open, oldest first.
func (s State) Requests(now time.Time) []Request {
	return without(s.requests, func(r Request) bool { return !r.Open(now) })
}

func ofPerson(d accessv1.Door, who string) func(Person) bool {
	return func(p Person) bool { return p.Door == d && p.Who == who }
}

func ofRequest(d accessv1.Door, who string) func(Request) bool {
	return func(r Request) bool { return r.Door == d && r.Who == who }
}

func first[T any](list []T, is func(T) bool) (T, bool) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i], true
	}
	var none T
	return none, false
}

// without is a copy of a list without some; nil when nothing is left.
func without[T any](list []T, is func(T) bool) []T {
	var out []T
	for _, v := range list {
		if !is(v) {
			out = append(out, v)
		}
	}
	return out
}
