package judge

import (
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const (
	statusCompleted = "completed"
	statusFailed    = "failed"
	statusCancelled = "cancelled"
)

// history is the judge's own fold of one session. It shares no code with the product's machines.
type history struct {
	court *court
	id    session.ID
	last  uint64 // cursor of the event before

	inbox []*received // in the order of the journal
	byID  map[string]*received
	byKey map[string]*received

	open    *turn           // the one that runs
	ended   map[string]bool // turns by id
	started int             // place of the last message that a turn claimed; -1
	final   int             // place of the last message that was answered; -1
	shown   []*delivery     // in the order of the journal
	byShown map[string]*delivery
}

type turn struct {
	id      string
	claim   envelope.Event
	attempt int
	round   int
}

// final is the end of a turn.
type final struct {
	event    envelope.Event
	status   string
	text     string
	delivery *delivery
}

func newHistory(c *court, id session.ID) *history {
	return &history{
		court: c, id: id, byID: map[string]*received{}, byKey: map[string]*received{},
		ended: map[string]bool{}, byShown: map[string]*delivery{}, started: -1, final: -1,
	}
}

func (h *history) say(k Kind, e envelope.Event, format string, args ...any) {
	h.court.say(k, h.id, e.Cursor, format, args...)
}

func (h *history) fold(e envelope.Event) {
	if e.Prev != h.last {
		h.say(Broken, e, "%s follows cursor %d by its own account, and %d in the journal", e.Kind(), e.Prev, h.last)
	}
	h.last = e.Cursor
	switch b := e.Body.(type) {
	case envelope.Unknown:
		h.say(Broken, e, "%s cannot be read: %v", b.Type, b.Err)
	case messagev1.Received:
		h.receive(e, b)
	case turnv1.Started:
		h.start(e, b.Claim)
	case turnv1.Continued:
		h.claim(e, b.Claim, h.nextRound)
	case turnv1.Resumed:
		h.court.counts.Takeovers++
		h.claim(e, b.Claim, h.nextAttempt)
	case turnv1.Completed:
		h.end(e, b.Turn, b.Answers, statusCompleted, b.Text)
	case turnv1.Failed:
		h.court.counts.Failures[string(b.Cause)]++
		if b.Cause != turnv1.Exhausted && !h.court.ev.MayFail {
			h.say(Failed, e, "turn %s failed (%s) and the model had answers for all: %s", b.Turn, b.Cause, b.Detail)
		}
		h.end(e, b.Turn, b.Answers, statusFailed, b.Text)
	case turnv1.Cancelled:
		h.end(e, b.Turn, b.Answers, statusCancelled, "")
	case deliveryv1.Event:
		h.deliver(e, b)
	}
}

func (h *history) start(e envelope.Event, c turnv1.Claim) {
	if h.open != nil {
		h.say(Disordered, e, "turn %s starts while %s runs", c.Turn, h.open.id)
	}
	if h.ended[c.Turn] {
		h.say(Doubled, e, "turn %s starts again after its end", c.Turn)
	}
	if len(c.Messages) == 0 {
		h.say(Wrong, e, "turn %s answers no message", c.Turn)
	}
	for _, id := range c.Messages {
		r := h.byID[id]
		if r == nil {
			h.say(Wrong, e, "turn %s claims message %s, which was not received before", c.Turn, id)
			continue
		}
		if r.place <= h.started {
			h.say(Disordered, e, "turn %s claims %s after a later message", c.Turn, name(r))
		}
		h.started = max(h.started, r.place)
	}
	h.take(e, c)
}

// claim checks Continued and Resumed.
func (h *history) claim(e envelope.Event, c turnv1.Claim, next func(turnv1.Claim) bool) {
	if h.open == nil || h.open.id != c.Turn {
		h.say(Doubled, e, "%s of turn %s, which does not run", e.Kind(), c.Turn)
	} else if !next(c) {
		h.say(Wrong, e, "%s of turn %s says round %d, attempt %d after round %d, attempt %d",
			e.Kind(), c.Turn, c.Round, c.Attempt, h.open.round, h.open.attempt)
	}
	h.take(e, c)
}

func (h *history) nextRound(c turnv1.Claim) bool { return c.Round == h.open.round+1 && c.Attempt == 1 }

func (h *history) nextAttempt(c turnv1.Claim) bool {
	return c.Round == h.open.round && c.Attempt == h.open.attempt+1
}

func (h *history) take(e envelope.Event, c turnv1.Claim) {
	h.open = &turn{id: c.Turn, claim: e, attempt: c.Attempt, round: c.Round}
	for _, id := range c.Messages {
		if r := h.byID[id]; r != nil {
			r.claims++
		}
	}
}

func (h *history) end(e envelope.Event, id string, answers []string, status, text string) {
	if h.open == nil || h.open.id != id {
		h.say(Doubled, e, "%s of turn %s, which does not run", e.Kind(), id)
	}
	h.open = nil
	h.ended[id] = true
	f := &final{event: e, status: status, text: text, delivery: &delivery{event: e}}
	if status != statusCancelled { // nothing is shown of a stop
		h.shown = append(h.shown, f.delivery)
	}
	h.byShown[e.ID] = f.delivery
	for _, a := range answers {
		r := h.byID[a]
		switch {
		case r == nil:
			h.say(Wrong, e, "turn %s answers message %s, which was not received before", id, a)
			continue
		case r.final != nil:
			h.say(Doubled, e, "%s is answered again, first at cursor %d", name(r), r.final.event.Cursor)
		case r.place < h.final:
			h.say(Disordered, e, "%s is answered after a later message", name(r))
		}
		r.final = f
		h.final = max(h.final, r.place)
	}
}

// rest says what is left when all is quiet.
func (h *history) rest() {
	if h.open != nil {
		h.say(Stuck, h.open.claim, "turn %s runs still", h.open.id)
	}
	for _, r := range h.inbox {
		if r.final == nil {
			h.say(Stuck, r.event, "%s has no answer", name(r))
		}
	}
	for _, d := range h.shown {
		if !d.done() {
			h.say(Stuck, d.event, "the delivery of %s is %s", d.event.Kind(), d.state)
		}
	}
}

func name(r *received) string {
	if r.marker != "" {
		return r.marker
	}
	return "message " + r.event.ID
}
