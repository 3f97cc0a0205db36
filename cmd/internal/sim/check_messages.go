package sim

import (
	"fmt"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// inbox is what came into a session, and what became of it.
type inbox struct {
	*checker
	s       session.ID
	all     map[string]*came
	order   []string
	running string // the turn that runs
	newest  int    // of the messages that were answered, the place of the one that came last
}

type came struct {
	at      int
	message bool // else a command or a decision
	ends    []string
}

// messages: each message and command is answered once; a message only when the model was shown it, or the failure is told; the
// order is kept.
func (c *checker) messages(s session.ID, events []envelope.Event) {
	in := &inbox{checker: c, s: s, all: map[string]*came{}, newest: -1}
	for _, e := range events {
		in.event(e)
		in.turn(e)
	}
	if in.running != "" {
		c.wrong(s, "turn %s has never ended", in.running)
	}
	for _, id := range in.order {
		switch f := in.all[id]; {
		case len(f.ends) == 0:
			c.wrong(s, "%s was never answered", id)
		case len(f.ends) > 1 && f.message:
			c.wrong(s, "%s was answered more than once: %v", id, f.ends)
		}
	}
}

func (in *inbox) add(e envelope.Event, message bool) {
	in.all[e.ID] = &came{at: len(in.order), message: message}
	in.order = append(in.order, e.ID)
}

// end: an event answers something.
func (in *inbox) end(e envelope.Event, ids ...string) {
	for _, id := range ids {
		if f := in.all[id]; f != nil {
			f.ends = append(f.ends, fmt.Sprintf("%s at %d", e.Kind(), e.Cursor))
		} else {
			in.wrong(in.s, "event %d answers %q, which nobody has sent before", e.Cursor, id)
		}
	}
}

// done: a command was carried out; the event that says so may have come before, or comes twice.
func (in *inbox) done(e envelope.Event, id string) {
	if f := in.all[id]; f != nil && len(f.ends) == 0 {
		in.end(e, id)
	}
}

func (in *inbox) event(e envelope.Event) {
	switch b := e.Body.(type) {
	case messagev1.Received:
		in.add(e, true)
	case messagev1.Control, messagev1.Decision:
		in.add(e, false)
	case noticev1.Posted:
		in.end(e, b.Answers...)
	case approvalv1.Decided:
		in.end(e, b.Answers...)
	case turnv1.SessionConfigured:
		in.end(e, b.By)
	case turnv1.SessionReset:
		in.done(e, b.By) // a turn may have been ended for it before
	case turnv1.SessionCompacted:
		if b.By != "" {
			in.end(e, b.By)
		}
	case turnv1.CompactionFailed:
		if b.By != "" {
			in.end(e, b.By)
		}
	}
}

func (in *inbox) turn(e envelope.Event) {
	switch b := e.Body.(type) {
	case turnv1.Started:
		if in.running != "" {
			in.wrong(in.s, "event %d starts turn %s while %s runs", e.Cursor, b.Turn, in.running)
		}
		in.running = b.Turn
	case turnv1.Completed:
		in.over(e, b.Turn)
		in.answered(e, b)
		in.end(e, b.Answers...)
	case turnv1.Failed:
		in.over(e, b.Turn)
		in.end(e, b.Answers...)
		if b.Text == "" {
			in.wrong(in.s, "event %d fails and tells nobody", e.Cursor)
		}
	case turnv1.Cancelled:
		if b.Turn != "" {
			in.over(e, b.Turn)
		}
		in.end(e, b.Answers...)
		if b.Reason == turnv1.Stopped {
			in.done(e, b.By)
		}
	}
}

func (in *inbox) over(e envelope.Event, turn string) {
	if turn != in.running {
		in.wrong(in.s, "event %d ends turn %s while %q runs", e.Cursor, turn, in.running)
	}
	in.running = ""
}

// answered: in order, and nothing that the model was not shown.
func (in *inbox) answered(e envelope.Event, b turnv1.Completed) {
	for _, id := range b.Answers {
		f := in.all[id]
		if f == nil {
			continue
		}
		if f.at < in.newest {
			in.wrong(in.s, "event %d answers message %s after a later one", e.Cursor, id)
		}
		in.newest = max(in.newest, f.at)
		if !in.w.outside.shown[string(in.s)+" "+b.Turn][id] {
			in.wrong(in.s, "event %d answers message %s, which the model was not shown", e.Cursor, id)
		}
	}
}
