package timeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

func (b *builder) turnEvent(ev envelope.Event, body turnv1.Event) *Entry {
	switch t := body.(type) {
	case turnv1.Started:
		b.gaveWay(ev.Time)
		return b.claim(ev, t.Claim, "asks the model")
	case turnv1.Continued:
		b.gaveWay(ev.Time)
		return b.claim(ev, t.Claim, "asks the model")
	case turnv1.Resumed:
		return b.claim(ev, t.Claim, fmt.Sprintf("taken over from worker %s: attempt %d", t.From, t.Attempt))
	case turnv1.Stepped:
		return b.stepped(ev, t)
	case turnv1.Completed:
		e := b.outcome(ev, t.Outcome, "completed", "answers: "+t.Text)
		b.ended(t.Turn, ev.Time, "completed", "")
		return e
	case turnv1.Failed:
		e := b.outcome(ev, t.Outcome, "failed", cause(string(t.Cause), t.Text))
		if f := e.parent.Facts.(*Round); f.Outcome == "failed" && f.Cause == "" {
			f.Cause, f.Detail = string(t.Cause), short(t.Detail)
		}
		b.ended(t.Turn, ev.Time, "failed", string(t.Cause))
		b.given(t.Answers, ev.Time, "failed")
		return e
	case turnv1.Overflowed:
		e := b.outcome(ev, t.Outcome, "overflowed", "too long for the model: "+t.Detail)
		if f := e.parent.Facts.(*Round); f.Outcome == "overflowed" {
			f.Cause = string(turnv1.ContextOverflow)
		}
		return e
	case turnv1.Cancelled:
		return b.cancelled(ev, t)
	case turnv1.CompactionStarted, turnv1.CompactionFailed, turnv1.SessionCompacted:
		return b.compactionEvent(ev, body)
	case turnv1.SessionConfigured:
		return b.leaf(b.answered([]string{t.By}), ev, fmt.Sprintf("setting %s: %s", t.Setting, orOwn(t.Value)))
	case turnv1.SessionReset:
		b.gaveWay(ev.Time)
		return b.leaf(b.answered([]string{t.By}), ev, "a new beginning: what came before is no longer shown to the model")
	case turnv1.SessionDeleted:
		b.bury(ev.Time)
		return b.leaf(nil, ev, buried(t))
	case turnv1.Forked:
		return b.leaf(nil, ev, forked(t))
	default:
		return b.leaf(nil, ev, "")
	}
}

func orOwn(value string) string {
	if value == "" {
		return "the agent's own again"
	}
	return value
}

func cause(class, text string) string { return strings.TrimSuffix(class+": "+text, ": ") }

func buried(t turnv1.SessionDeleted) string {
	s := "deleted by " + t.By
	if t.Events > 0 {
		s += ": " + counted(t.Events, "event") + " purged"
	}
	if t.Archive != "" {
		s += ", kept in " + t.Archive
	}
	return s
}

func forked(t turnv1.Forked) string {
	s := fmt.Sprintf("begins with the past of %s up to event %d (%s), by %s", t.From, t.At, counted(len(t.Events), "event"), t.By)
	if t.Model != "" {
		s += ", goes on with " + t.Model
	}
	if t.Edited != nil {
		s += fmt.Sprintf(", event %d (%s) is edited", t.Edited.Cursor, t.Edited.Kind)
	}
	return s
}

// turn is the group of a turn, which begins with an event when it is new.
func (b *builder) turn(id string, messages []string, ev envelope.Event) *Entry {
	e, ok := b.turns[id]
	if !ok {
		var parent *Entry
		for _, m := range messages {
			if at := b.at[m]; at != nil && at.Kind == MessageKind {
				parent = at
				break
			}
		}
		e = b.group(parent, TurnKind, id, ev, &Turn{Number: len(b.turns) + 1})
		b.turns[id], b.running = e, e
	}
	f := e.Facts.(*Turn)
	for _, m := range messages {
		if !slices.Contains(f.Messages, m) {
			f.Messages = append(f.Messages, m)
			b.taken(m, id, ev.Time)
		}
	}
	return e
}

// taken says that a message has found its turn.
func (b *builder) taken(message, turn string, at time.Time) {
	e := b.at[message]
	if e == nil {
		return
	}
	if m, ok := e.Facts.(*Message); ok && !m.asked {
		m.asked, m.Turn, m.Waited = true, turn, between(e.Time, at)
	}
}

// given says that messages will have no turn, if they had none.
func (b *builder) given(messages []string, at time.Time, why string) {
	for _, id := range messages {
		if e := b.at[id]; e != nil {
			if m, ok := e.Facts.(*Message); ok {
				m.give(e, at, why)
			}
		}
	}
}

func (m *Message) give(e *Entry, at time.Time, why string) {
	if !m.asked {
		m.asked, m.Ended, m.Waited = true, why, between(e.Time, at)
	}
}

// round is the group of a model call.
func (b *builder) round(turn *Entry, n int, ev envelope.Event) *Entry {
	key := roundKey{turn.ID, n}
	e, ok := b.rounds[key]
	if !ok {
		e = b.group(turn, RoundKind, fmt.Sprintf("%s/%d", turn.ID, n), ev, &Round{Turn: turn.ID, Round: n})
		b.rounds[key] = e
		turn.Facts.(*Turn).Rounds++
	}
	return e
}

func (b *builder) claim(ev envelope.Event, c turnv1.Claim, text string) *Entry {
	e := b.round(b.turn(c.Turn, c.Messages, ev), c.Round, ev)
	f := e.Facts.(*Round)
	f.stop(ev.Time)
	f.Attempts++
	f.Worker, f.Deadline, f.claimed = c.Worker, c.Deadline, ev.Time
	return b.leaf(e, ev, text+", worker "+c.Worker)
}

// stop counts the time of the attempt that runs.
func (r *Round) stop(at time.Time) {
	if !r.claimed.IsZero() {
		r.Asked += between(r.claimed, until(at, r.Deadline))
		r.claimed = time.Time{}
	}
}

// outcome ends a model call.
func (b *builder) outcome(ev envelope.Event, o turnv1.Outcome, how, text string) *Entry {
	turn := b.turn(o.Turn, nil, ev)
	e := b.round(turn, o.Round, ev)
	e.paid, turn.paid = append(e.paid, ev), append(turn.paid, ev)
	f := e.Facts.(*Round)
	b.model = cmp.Or(o.Model, b.model)
	if e.Open {
		f.Outcome, f.Model, f.Tried = how, o.Model, tried(o.Tried)
		f.stop(ev.Time)
		e.close(ev.Time)
	}
	return b.leaf(e, ev, text)
}

func tried(list []turnv1.Try) []turnv1.Try {
	list = slices.Clone(list)
	for i := range list {
		list[i].Model, list[i].Detail = short(list[i].Model), short(list[i].Detail)
	}
	return list
}

func (b *builder) stepped(ev envelope.Event, t turnv1.Stepped) *Entry {
	text := "asks for " + counted(len(t.Calls), "call")
	if t.Text != "" {
		text += ": " + t.Text
	}
	e := b.outcome(ev, t.Outcome, "stepped", text)
	for _, c := range t.Calls {
		g := b.call(t.Turn, c.ID, e.parent, ev)
		f := g.Facts.(*Call)
		f.Tool, f.Arguments, g.Cause = short(c.Tool), arguments(c.Arguments), ev.Cursor
		switch {
		case c.Refusal != "":
			f.end(g, ev.Time, "refused", c.Refusal)
		case c.Answer != "":
			f.end(g, ev.Time, "answered", "")
		}
	}
	return e
}

// arguments are shown as a person would write them.
func arguments(raw json.RawMessage) string {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return short(string(raw))
	}
	var s strings.Builder
	e := json.NewEncoder(&s)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return short(string(raw))
	}
	return short(s.String())
}

// ended closes a turn, with what is open in it but for questions to people, which have an end of their own.
func (b *builder) ended(turn string, at time.Time, how, why string) {
	e := b.turns[turn]
	if e == nil || !e.Open {
		return
	}
	e.close(at)
	f := e.Facts.(*Turn)
	f.Outcome, f.Cause = how, why
	if b.running == e {
		b.running = nil
	}
	for _, r := range e.Entries {
		rf, ok := r.Facts.(*Round)
		if !ok {
			continue
		}
		if r.Open {
			rf.Outcome, rf.Cause = how, why
			rf.stop(at)
			r.close(at)
		}
		for _, c := range r.Entries {
			if cf, ok := c.Facts.(*Call); ok && c.Open {
				cf.end(c, at, "cancelled", "")
			}
		}
	}
}

func (b *builder) cancelled(ev envelope.Event, t turnv1.Cancelled) *Entry {
	reason := string(t.Reason)
	if reason == "" { // of a time when there was no other
		reason = string(turnv1.Stopped)
	}
	text := fmt.Sprintf("cancelled (%s), %s", reason, counted(len(t.Answers), "message"))
	if t.Text != "" {
		text += ": " + t.Text
	}
	b.given(t.Answers, ev.Time, reason)
	if t.Turn == "" {
		return b.leaf(b.answered(append([]string{t.By}, t.Answers...)), ev, text)
	}
	turn := b.turn(t.Turn, nil, ev)
	turn.paid = append(turn.paid, ev)
	var last *Entry
	for _, r := range turn.Entries {
		if r.Kind == RoundKind {
			last = r
		}
	}
	if last != nil && last.Open {
		last.paid = append(last.paid, ev)
		last.Facts.(*Round).Model = t.Model
	}
	b.ended(t.Turn, ev.Time, "cancelled", reason)
	return b.leaf(turn, ev, text)
}
