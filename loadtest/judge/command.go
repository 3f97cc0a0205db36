package judge

import (
	"slices"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Queue modes that the judge has to know.
const (
	steer     = "steer"
	interrupt = "interrupt"
	followup  = "followup"
)

// command is one control in the journal.
type command struct {
	event    envelope.Event
	verb     messagev1.Verb
	answered uint64 // cursor, 0 for none
}

func (h *history) command(e envelope.Event, b messagev1.Control) {
	if h.commands[e.ID] != nil {
		h.say(Doubled, e, "the command %s is there already", e.ID)
		return
	}
	h.commands[e.ID] = &command{event: e, verb: b.Verb}
	if b.Verb == messagev1.Stop {
		h.stop = e.Cursor
	}
}

// answer is that of a command; an id that is none of them is somebody else's business.
func (h *history) answer(e envelope.Event, id string) {
	c := h.commands[id]
	if c == nil {
		return
	}
	if c.answered != 0 {
		h.say(Doubled, e, "the command %s (%s) is answered again, first at cursor %d", c.verb, id, c.answered)
	}
	c.answered = e.Cursor
}

// mode is the queue mode that holds.
func (h *history) mode() string {
	switch {
	case h.queue != "":
		return h.queue
	case h.court.ev.Queue != "":
		return h.court.ev.Queue
	}
	return followup
}

// cancel checks that only a stop, a newer message in queue mode interrupt, or a full queue takes messages out.
func (h *history) cancel(e envelope.Event, b turnv1.Cancelled) {
	before := h.cancelledBy(e, b)
	for _, id := range b.Answers {
		if r := h.byID[id]; r != nil && r.event.Cursor >= before {
			h.say(Wrong, e, "%s came after what cancelled it (cursor %d)", name(r), before)
		}
	}
	switch running := h.open; {
	case b.Turn == "" && running != nil && slices.ContainsFunc(b.Answers, func(id string) bool { return slices.Contains(running.messages, id) }):
		h.say(Wrong, e, "messages of turn %s are cancelled and it runs on", running.id)
	case b.Turn == "":
	case running == nil || running.id != b.Turn:
		h.say(Doubled, e, "%s of turn %s, which does not run", e.Kind(), b.Turn)
		h.closed(b.Turn)
	default:
		for _, id := range running.messages {
			if !slices.Contains(b.Answers, id) {
				h.say(Wrong, e, "turn %s is cancelled without its message %s", b.Turn, id)
			}
		}
		h.closed(b.Turn)
	}
	f := &final{event: e, status: statusCancelled, text: b.Text}
	if len(b.Answers) > 0 || b.Text != "" {
		f.delivery = h.show(e, b.Text)
	}
	h.settle(e, b.Answers, f)
}

// cancelledBy is the cursor before which all messages came that may be cancelled.
func (h *history) cancelledBy(e envelope.Event, b turnv1.Cancelled) uint64 {
	switch b.Reason {
	case turnv1.Interrupted, turnv1.QueueFull:
		r := h.byID[b.By]
		if r == nil {
			h.say(Wrong, e, "messages are cancelled (%s) by %s, which is no message", b.Reason, b.By)
			return e.Cursor
		}
		if b.Reason == turnv1.QueueFull {
			return r.event.Cursor + 1 // the newest may be dropped itself
		}
		if h.mode() != interrupt {
			h.say(Wrong, e, "a message interrupts in queue mode %s", h.mode())
		}
		h.court.counts.Interrupt += len(b.Answers)
		return r.event.Cursor
	case turnv1.Stopped:
	}
	c := h.commands[b.By]
	if c == nil || c.verb != messagev1.Stop {
		h.say(Wrong, e, "messages are cancelled by %s, which is no stop", b.By)
		return e.Cursor
	}
	h.court.counts.Stopped += len(b.Answers)
	return h.stop // of several that wait, the first is carried out for all
}

// compact checks the claim of a compaction: what it replaces are finished turns.
func (h *history) compact(e envelope.Event, b turnv1.CompactionStarted) {
	if !h.ended[b.Through] {
		h.say(Wrong, e, "compaction %s is to replace turn %s, which has not ended", b.Compaction, b.Through)
	}
	if c := h.compaction; c != nil && (c.Compaction != b.Compaction || b.Attempt != c.Attempt+1) {
		h.say(Wrong, e, "compaction %s, attempt %d begins while attempt %d of %s runs", b.Compaction, b.Attempt, c.Attempt, c.Compaction)
	}
	h.compaction = &b
}

// compacted checks its end.
func (h *history) compacted(e envelope.Event, id string, attempt int, by, text string) {
	if c := h.compaction; c == nil || c.Compaction != id || c.Attempt != attempt {
		h.say(Doubled, e, "%s of compaction %s, attempt %d, which does not run", e.Kind(), id, attempt)
	}
	h.compaction = nil
	if by != "" { // the others are nobody's concern
		h.show(e, text)
	}
}

// commanders compares what the senders of commands saw with the journal.
func (c *court) commanders() {
	for _, m := range c.ev.Commands {
		h := c.sessions[m.Session]
		switch {
		case h == nil || h.commands[m.ID] == nil:
			c.say(Lost, m.Session, 0, "the command %q (%s) was accepted and is not in the journal", m.Text, m.ID)
		case m.Status == "":
			c.say(Stuck, m.Session, h.commands[m.ID].event.Cursor, "the sender of %q never got a final reply", m.Text)
		case m.Status != statusCompleted:
			c.say(Wrong, m.Session, h.commands[m.ID].event.Cursor, "the sender of %q was told %q", m.Text, m.Status)
		}
	}
}

// answersOf are the ids of commands that an event answers.
func answersOf(b envelope.Body) []string {
	switch b := b.(type) {
	case turnv1.Cancelled:
		return []string{b.By}
	case turnv1.SessionConfigured:
		return []string{b.By}
	case turnv1.SessionReset:
		return []string{b.By}
	case turnv1.SessionCompacted:
		return []string{b.By}
	case turnv1.CompactionFailed:
		return []string{b.By}
	case noticev1.Posted:
		return b.Answers
	}
	return nil
}
