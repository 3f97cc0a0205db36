package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// sweep is what one reading of the journal, or of its end, has found.
type sweep struct {
	from, to uint64
	events   int
	chain    health.Chain
	sessions map[session.ID]*swept
	order    []session.ID // by when they were seen first
	odd      []oddity
	known    map[string]bool // types
}

// swept is one session in a sweep. It is whole if its past begins in it; then its machines were asked to fold it.
type swept struct {
	whole  bool
	folds  []recheck.Fold
	unread uint64 // cursor of its first event that today's code cannot read; 0: none
	trap   *health.PanicError
	last   uint64
}

// oddity is a message of the journal that is not what it should be.
type oddity struct {
	id      string // of the finding
	session session.ID
	cursor  uint64
	text    string
}

func newSweep(from, to uint64) *sweep {
	w := &sweep{from: max(from, 1), to: to, sessions: map[session.ID]*swept{}, known: map[string]bool{}}
	w.chain.From = w.from
	for _, t := range registry.All() {
		w.known[t.Name] = true
	}
	return w
}

// read goes over the messages, and calls step for each.
func (w *sweep) read(ctx context.Context, conn *bus.Conn, machines []recheck.Machine, step func()) error {
	if w.from > w.to {
		return nil
	}
	return conn.Scan(ctx, bus.ReplayOptions{From: w.from, To: w.to}, func(m bus.Raw) error {
		w.events++
		step()
		ev, err := conn.Decode(ctx, m)
		switch {
		case errors.Is(err, envelope.ErrEnvelope):
			w.alien(m, err)
		case err != nil:
			return err
		default:
			w.event(ev, m, machines)
		}
		return nil
	})
}

// alien is a message that is no event.
func (w *sweep) alien(m bus.Raw, err error) {
	o := oddity{id: "chain.alien", cursor: m.Cursor, text: firstLine(err.Error())}
	if at, perr := subject.ParseEvent(m.Subject); perr == nil {
		o.session = at.Session
		w.chain.Event(at.Session, m.Cursor, 0, false, false)
		w.of(at.Session).last = m.Cursor
	}
	w.odd = append(w.odd, o)
}

func (w *sweep) of(id session.ID) *swept {
	s, ok := w.sessions[id]
	if !ok {
		s = &swept{}
		w.sessions[id] = s
		w.order = append(w.order, id)
	}
	return s
}

func (w *sweep) event(ev envelope.Event, m bus.Raw, machines []recheck.Machine) {
	tombstone := health.Tombstone(ev)
	w.chain.Event(ev.Session, ev.Cursor, ev.Prev, tombstone, true)
	s := w.of(ev.Session)
	if s.last == 0 && ev.Prev == 0 || tombstone {
		*s = swept{whole: true}
		for _, machine := range machines {
			s.folds = append(s.folds, machine.On(ev.Session))
		}
	}
	s.last = ev.Cursor
	if u, ok := ev.Body.(envelope.Unknown); ok {
		w.unread(ev, u, m.Header.Get(envelope.HeaderBlob) != "")
		if s.unread == 0 {
			s.unread = ev.Cursor
		}
	}
	if s.whole && s.unread == 0 && s.trap == nil {
		s.fold(ev, machines)
	}
}

// fold has the machines fold an event. One that panics is asked nothing more.
func (s *swept) fold(ev envelope.Event, machines []recheck.Machine) {
	i := 0
	defer func() {
		if v := recover(); v != nil {
			s.trap = &health.PanicError{Service: machines[i].Service(), Value: v}
		}
	}()
	for i = range s.folds {
		s.folds[i].Apply(ev)
	}
}

// due is what the machines want, if the sweep can tell.
func (s *swept) due(now time.Time) (due []recheck.Due, err error) {
	defer func() {
		if v := recover(); v != nil {
			due, err = nil, fmt.Errorf("a machine panics: %v", v)
		}
	}()
	for _, f := range s.folds {
		due = append(due, f.Due(now)...)
	}
	return due, nil
}

// unread notes an event whose body cannot be read, and why.
func (w *sweep) unread(ev envelope.Event, u envelope.Unknown, kept bool) {
	o := oddity{id: "session.newer", session: ev.Session, cursor: ev.Cursor, text: u.Type}
	switch {
	case kept && !w.known[u.Type]:
	case kept:
		o.id = "body.lost"
	case w.known[u.Type]:
		o.id = "body.damaged"
	}
	if o.id != "session.newer" && u.Err != nil {
		o.text = u.Type + ": " + firstLine(u.Err.Error())
	}
	w.odd = append(w.odd, o)
}
