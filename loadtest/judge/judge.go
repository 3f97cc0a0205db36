package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jetclaw/jetclaw/loadtest/user/marker"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Judge looks at everything once.
func Judge(ev Evidence) Verdict {
	c := &court{ev: ev, sessions: map[session.ID]*history{}, marked: map[string]*received{}}
	c.counts = Counts{Accepted: len(ev.Messages), Events: map[string]int{}, Failures: map[string]int{}, Outcomes: map[string]int{}, Answers: map[string]int{}}
	for _, e := range ev.Journal {
		c.counts.Events[e.Kind()]++
		h := c.sessions[e.Session]
		if h == nil {
			h = newHistory(c, e.Session)
			c.sessions[e.Session] = h
		}
		h.fold(e)
	}
	for _, h := range c.sessions {
		h.rest()
	}
	c.senders()
	c.commanders()
	c.pushes()
	c.model()
	c.effects()
	c.deciders()
	c.counts.Sessions = len(c.sessions)
	slices.SortStableFunc(c.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Cursor, b.Cursor))
	})
	return Verdict{Violations: c.found, Counts: c.counts}
}

type court struct {
	ev       Evidence
	sessions map[session.ID]*history
	marked   map[string]*received // by the marker of its text, over all sessions
	found    []Violation
	counts   Counts
}

func (c *court) say(k Kind, s session.ID, cursor uint64, format string, args ...any) {
	c.found = append(c.found, Violation{Kind: k, Session: s, Cursor: cursor, Text: fmt.Sprintf(format, args...)})
}

// senders compares what each sender saw with the journal.
func (c *court) senders() {
	last := map[session.ID]*received{} // the message sent before, in each session
	ids := map[string]string{}
	for _, m := range c.ev.Messages {
		if other, ok := ids[m.ID]; ok && other != m.Marker {
			c.say(Wrong, m.Session, 0, "message %s is the id given to both %s and %s", m.ID, other, m.Marker)
		}
		ids[m.ID] = m.Marker
		h := c.sessions[m.Session]
		if h == nil || h.byID[m.ID] == nil {
			c.say(Lost, m.Session, 0, "message %s (%s, key %s) was accepted and is not in the journal", m.ID, m.Marker, m.Key)
			continue
		}
		r := h.byID[m.ID]
		if r.marker != m.Marker {
			c.say(Wrong, m.Session, r.event.Cursor, "message %s was %s when sent and is %q in the journal", m.ID, m.Marker, r.marker)
		}
		if p := last[m.Session]; p != nil && p.place >= r.place {
			c.say(Disordered, m.Session, r.event.Cursor, "%s was sent after %s and received before it", r.marker, p.marker)
		}
		last[m.Session] = r
		c.reply(r, m)
	}
}

func (c *court) reply(r *received, m Message) {
	switch {
	case m.Status == "":
		c.say(Stuck, m.Session, r.event.Cursor, "the sender of %s never got a final reply", m.Marker)
	case r.final == nil:
		c.say(Wrong, m.Session, r.event.Cursor, "the sender of %s was told %q and the journal has no answer", m.Marker, m.Status)
	case r.final.status != m.Status:
		c.say(Wrong, m.Session, r.final.event.Cursor, "the sender of %s was told %q, the journal has %s", m.Marker, m.Status, r.final.event.Kind())
	case m.Status == statusCompleted:
		if m.Text != r.final.text {
			c.say(Wrong, m.Session, r.final.event.Cursor, "the sender of %s read %.80q, the journal has %.80q", m.Marker, m.Text, r.final.text)
		}
		got := marker.All(m.Text)
		if !slices.Contains(got, m.Marker) {
			c.say(Wrong, m.Session, r.final.event.Cursor, "the reply to %s is %.80q", m.Marker, m.Text)
		}
		for _, g := range got {
			if o := c.marked[g]; o == nil || o.final != r.final {
				c.say(Wrong, m.Session, r.final.event.Cursor, "the reply to %s answers %s, which its turn did not claim", m.Marker, g)
			}
		}
	}
}

// model compares how often the model was asked with how often that was claimed.
func (c *court) model() {
	for m, n := range c.ev.Asked {
		r := c.marked[m]
		switch {
		case r == nil:
			c.say(Wrong, "", 0, "the model was asked about %s, which nobody received", m)
		case n > r.claims:
			c.say(Doubled, r.event.Session, r.event.Cursor, "the model was asked %d times about %s, of which %d claimed", n, m, r.claims)
		}
	}
}

// received is one message in the journal.
type received struct {
	event  envelope.Event
	marker string
	place  int // among the messages of its session, from 0
	claims int // of turns that show it to the model
	final  *final
}

func (h *history) receive(e envelope.Event, b messagev1.Received) {
	r := &received{event: e, marker: marker.First(b.Text), place: len(h.inbox)}
	if e.Key != "" {
		if other := h.byKey[e.Key]; other != nil {
			h.say(Doubled, e, "key %s was received already, at cursor %d", e.Key, other.event.Cursor)
		}
		h.byKey[e.Key] = r
	}
	if r.marker != "" {
		if other := h.court.marked[r.marker]; other != nil {
			h.say(Doubled, e, "%s was received already, at cursor %d", r.marker, other.event.Cursor)
		}
		h.court.marked[r.marker] = r
	}
	h.byID[e.ID] = r
	h.inbox = append(h.inbox, r)
}
