package playback

import (
	"time"

	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Session is one session as all machines have folded it. Not safe for concurrent use.
type Session struct {
	ID       session.ID
	machines []recheck.Machine
	folds    []recheck.Fold

	last uint64   // cursor of the newest event folded
	gap  *Finding // what keeps the events since then from being judged; nil: nothing
}

// NewSession is a session that nobody has written to.
func NewSession(machines []recheck.Machine, id session.ID) *Session {
	s := &Session{ID: id, machines: machines, folds: make([]recheck.Fold, len(machines))}
	for i, m := range machines {
		s.folds[i] = m.On(id)
	}
	return s
}

// Apply folds an event.
func (s *Session) Apply(ev envelope.Event) {
	for _, f := range s.folds {
		f.Apply(ev)
	}
	s.last = ev.Cursor
}

// Due is what the machines want at a time.
func (s *Session) Due(now time.Time) []recheck.Due {
	var all []recheck.Due
	for _, f := range s.folds {
		all = append(all, f.Due(now)...)
	}
	return all
}

// State is one machine's fold.
type State struct {
	Service string `json:"service"`
	State   any    `json:"state"`
}

// States are all folds, in the order of the machines.
func (s *Session) States() []State {
	all := make([]State, len(s.folds))
	for i, f := range s.folds {
		all[i] = State{Service: s.machines[i].Service(), State: f.State()}
	}
	return all
}

// Judge holds an event against the machine that has appended it, and folds it; nil when there is nothing to tell of it.
func (s *Session) Judge(ev envelope.Event, c *Count) *Finding {
	if found, bad := s.check(ev, c); bad {
		return &found
	}
	return nil
}

// Unjudged is what keeps the events since then from being judged; none when nothing does.
func (s *Session) Unjudged() []Finding {
	if s.gap == nil {
		return nil
	}
	return []Finding{*s.gap}
}

// CheckEvents is Judge for all events of one session that nothing was folded of, up to the first difference.
func CheckEvents(s *Session, events []envelope.Event) Report {
	r := Report{Sessions: 1}
	for _, ev := range events {
		if r.First = s.Judge(ev, &r.Count); r.First != nil {
			break
		}
	}
	r.Others = s.Unjudged()
	return r
}

// check holds an event against the machine that has appended it, and folds it.
func (s *Session) check(ev envelope.Event, c *Count) (found Finding, bad bool) {
	c.Events++
	if _, stone := ev.Body.(turnv1.SessionDeleted); stone { // whatever was below it is gone, or was to go
		s.gap = nil
	} else if ev.Prev != s.last && s.gap == nil {
		s.gap = &Finding{Kind: Hole, Cursor: ev.Cursor, Session: s.ID, Type: ev.Type(), Missing: ev.Prev}
	}
	defer s.Apply(ev)
	if s.gap != nil {
		c.Unjudged++
		return Finding{}, false
	}
	for i, m := range s.machines {
		if !m.Owns(ev) {
			continue
		}
		v := s.folds[i].Check(ev)
		switch v.Result {
		case recheck.Same:
			c.Decided++
		case recheck.Given:
			c.Given++
		case recheck.Different:
			return Finding{
				Kind: Different, Cursor: ev.Cursor, Session: s.ID, Type: ev.Type(), ID: ev.ID, Service: m.Service(), Differences: v.Differences,
			}, true
		case recheck.Newer:
			s.newer(ev, c)
		}
		return Finding{}, false
	}
	if _, unknown := ev.Body.(envelope.Unknown); unknown {
		s.newer(ev, c)
		return Finding{}, false
	}
	c.Facts++
	return Finding{}, false
}

func (s *Session) newer(ev envelope.Event, c *Count) {
	c.Unjudged++
	s.gap = &Finding{Kind: Newer, Cursor: ev.Cursor, Session: s.ID, Type: ev.Type(), ID: ev.ID}
}
