package judge

import (
	"slices"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
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

	commands   map[string]*command
	stop       uint64                    // cursor of the last one
	queue      string                    // the mode that the session has chosen, or ""
	compaction *turnv1.CompactionStarted // the one that runs

	calls     map[string]*call     // by turn and id
	approvals map[string]*approval // by id

	open    *turn           // the one that runs
	ended   map[string]bool // turns by id
	started int             // place of the last message that a turn claimed; -1
	final   int             // place of the last message that was answered, not cancelled; -1
	shown   []*delivery     // in the order of the journal
	byShown map[string]*delivery
}

type turn struct {
	id       string
	claim    envelope.Event
	attempt  int
	round    int
	messages []string // of the last claim
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
		court: c, id: id, byID: map[string]*received{}, byKey: map[string]*received{}, commands: map[string]*command{},
		calls: map[string]*call{}, approvals: map[string]*approval{}, ended: map[string]bool{}, byShown: map[string]*delivery{}, started: -1, final: -1,
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
	for _, id := range answersOf(e.Body) {
		h.answer(e, id)
	}
	switch b := e.Body.(type) {
	case envelope.Unknown:
		h.say(Broken, e, "%s cannot be read: %v", b.Type, b.Err)
	case messagev1.Received:
		h.receive(e, b)
	case messagev1.Control:
		h.command(e, b)
	case turnv1.Started:
		h.start(e, b.Claim)
	case turnv1.Continued:
		h.answered(e, b.Turn)
		h.claim(e, b.Claim, h.nextRound)
		h.court.counts.Rounds = max(h.court.counts.Rounds, b.Round)
	case turnv1.Resumed:
		h.court.counts.Takeovers++
		h.claim(e, b.Claim, h.nextAttempt)
	case turnv1.Stepped:
		h.tried(b.Outcome)
		h.asked(e, b)
	case callv1.Event:
		h.called(e, b)
	case approvalv1.Event:
		h.asks(e, b)
	case turnv1.Completed:
		h.tried(b.Outcome)
		h.answered(e, b.Turn)
		h.end(e, b.Turn, b.Answers, statusCompleted, b.Text)
	case turnv1.Failed:
		h.tried(b.Outcome)
		h.court.counts.Failures[string(b.Cause)]++
		if b.Cause != turnv1.Exhausted && !h.court.ev.MayFail {
			h.say(Failed, e, "turn %s failed (%s) and the model had answers for all: %s", b.Turn, b.Cause, b.Detail)
		}
		h.end(e, b.Turn, b.Answers, statusFailed, b.Text)
	case turnv1.Cancelled:
		h.cancel(e, b)
	case turnv1.CompactionStarted:
		h.compact(e, b)
	case turnv1.SessionCompacted:
		h.compacted(e, b.Compaction, b.Attempt, b.By, b.Text)
	case turnv1.CompactionFailed:
		h.compacted(e, b.Compaction, b.Attempt, b.By, b.Text)
	case turnv1.SessionReset:
		h.compaction = nil
	case turnv1.SessionConfigured:
		if b.Setting == turnv1.QueueSetting {
			h.queue = b.Value
		}
		h.show(e, b.Text)
	case deliveryv1.Event:
		h.deliver(e, b)
	default:
		h.told(e)
	}
}

// told is what people are told beside the answers of turns.
func (h *history) told(e envelope.Event) {
	switch b := e.Body.(type) {
	case noticev1.Posted:
		if !b.Quiet {
			h.show(e, b.Text)
		}
	case messagev1.Refused:
		if b.Tell { // else its sender has a receipt that says it
			h.show(e, b.Detail)
		}
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
	h.compaction = nil // one that nobody asked for gives way
	h.claimed(e, c.Turn, c.Messages)
	h.take(e, c)
}

// claimed checks messages that a turn shows the model for the first time.
func (h *history) claimed(e envelope.Event, turn string, messages []string) {
	for _, id := range messages {
		r := h.byID[id]
		if r == nil {
			h.say(Wrong, e, "turn %s claims message %s, which was not received before", turn, id)
			continue
		}
		if r.place <= h.started {
			h.say(Disordered, e, "turn %s claims %s after a later message", turn, name(r))
		}
		h.started = max(h.started, r.place)
	}
}

// claim checks Continued and Resumed.
func (h *history) claim(e envelope.Event, c turnv1.Claim, next func(turnv1.Claim) bool) {
	switch {
	case h.open == nil || h.open.id != c.Turn:
		h.say(Doubled, e, "%s of turn %s, which does not run", e.Kind(), c.Turn)
	case !next(c):
		h.say(Wrong, e, "%s of turn %s says round %d, attempt %d after round %d, attempt %d",
			e.Kind(), c.Turn, c.Round, c.Attempt, h.open.round, h.open.attempt)
	default:
		h.joined(e, c)
	}
	h.take(e, c)
}

// joined checks the messages that come into a turn that runs: a later round of a turn in queue mode steer takes some.
func (h *history) joined(e envelope.Event, c turnv1.Claim) {
	had := len(h.open.messages)
	if len(c.Messages) < had || !slices.Equal(c.Messages[:had], h.open.messages) {
		h.say(Wrong, e, "%s of turn %s is about other messages than before: %v, not %v", e.Kind(), c.Turn, c.Messages, h.open.messages)
		return
	}
	fresh := c.Messages[had:]
	if len(fresh) == 0 {
		return
	}
	if e.Kind() != "turn.continued" || h.mode() != steer {
		h.say(Wrong, e, "%s of turn %s takes further messages in queue mode %s", e.Kind(), c.Turn, h.mode())
	}
	h.court.counts.Steered += len(fresh)
	h.claimed(e, c.Turn, fresh)
}

func (h *history) nextRound(c turnv1.Claim) bool { return c.Round == h.open.round+1 && c.Attempt == 1 }

func (h *history) nextAttempt(c turnv1.Claim) bool {
	return c.Round == h.open.round && c.Attempt == h.open.attempt+1
}

func (h *history) take(e envelope.Event, c turnv1.Claim) {
	h.open = &turn{id: c.Turn, claim: e, attempt: c.Attempt, round: c.Round, messages: c.Messages}
	for _, id := range c.Messages {
		if r := h.byID[id]; r != nil {
			r.claims++
		}
	}
}

// tried counts answers that a fallback gave.
func (h *history) tried(o turnv1.Outcome) {
	if len(o.Tried) > 0 && o.Model != "" {
		h.court.counts.Fallbacks++
	}
}

// end of the turn that runs, by an answer or a failure.
func (h *history) end(e envelope.Event, id string, answers []string, status, text string) {
	switch {
	case h.open == nil || h.open.id != id:
		h.say(Doubled, e, "%s of turn %s, which does not run", e.Kind(), id)
	case !sameSet(answers, h.open.messages):
		h.say(Wrong, e, "%s of turn %s answers %v, its claim shows %v", e.Kind(), id, answers, h.open.messages)
	}
	h.closed(id)
	h.settle(e, answers, &final{event: e, status: status, text: text, delivery: h.show(e, text)})
}

func (h *history) closed(id string) {
	h.open, h.compaction = nil, nil
	h.ended[id] = true
}

// settle gives messages their one outcome.
func (h *history) settle(e envelope.Event, answers []string, f *final) {
	for _, a := range answers {
		r := h.byID[a]
		switch {
		case r == nil:
			h.say(Wrong, e, "%s is about message %s, which was not received before", e.Kind(), a)
			continue
		case r.final != nil:
			h.say(Doubled, e, "%s is answered again, first at cursor %d", name(r), r.final.event.Cursor)
		case f.status != statusCancelled && r.place < h.final:
			h.say(Disordered, e, "%s is answered after a later message", name(r))
		}
		r.final = f
		if f.status != statusCancelled { // what waits behind one that was dropped is answered all the same
			h.final = max(h.final, r.place)
		}
	}
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
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
	if c := h.compaction; c != nil {
		h.court.say(Stuck, h.id, 0, "compaction %s runs still", c.Compaction)
	}
	for _, c := range h.commands {
		if c.answered == 0 {
			h.say(Stuck, c.event, "the command %s (%s) has no answer", c.verb, c.event.ID)
		}
	}
	h.openCalls()
	h.waiting()
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
