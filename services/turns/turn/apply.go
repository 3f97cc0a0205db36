package turn

import (
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Notes that stand where an answer would, so that the model knows and the two sides keep taking turns.
const (
	noteFailed      = "[no answer was given: the turn failed]"
	noteCancelled   = "[no answer was given: the person stopped it]"
	noteInterrupted = "[no answer was given: the person wrote something else]"
)

// Apply folds one committed event. It never fails, ignores what it does not know, and leaves s as it was.
func (s State) Apply(ev envelope.Event) State {
	switch b := ev.Body.(type) {
	case messagev1.Received, messagev1.Edited, messagev1.Control:
		return s.fromOutside(ev)
	case turnv1.Started:
		return s.started(ev, b.Claim)
	case turnv1.Continued:
		return s.continued(ev, b.Claim)
	case turnv1.Resumed:
		return s.resumed(ev, b.Claim)
	case turnv1.Stepped:
		return s.stepped(ev, b)
	case turnv1.Overflowed:
		return s.overflowed(ev, b)
	case turnv1.Completed:
		if !s.answers(b.Outcome) || !s.Turn.Open {
			return s
		}
		return s.spent(b.Outcome, true).end(ev.ID, b.Answers, b.Text)
	case turnv1.Failed:
		if !s.answers(b.Outcome) { // counts while waiting too: too many rounds, no time left
			return s
		}
		return s.spent(b.Outcome, b.Cause == turnv1.ModelGarbage).end(ev.ID, b.Answers, noteFailed)
	case turnv1.Cancelled:
		return s.cancelled(ev, b)
	case callv1.Completed:
		return s.result(ev, b.Turn, b.Call, completed(ev, b))
	case callv1.Denied:
		return s.result(ev, b.Turn, b.Call, denied(b))
	case callv1.Awaiting, callv1.Dispatched, approvalv1.Event:
		return s.awaiting(ev.Body)
	case turnv1.CompactionStarted:
		return s.compacting(ev, b)
	case turnv1.SessionCompacted:
		return s.compacted(b)
	case turnv1.CompactionFailed:
		return s.uncompacted(b)
	case turnv1.SessionConfigured:
		return s.configured(b)
	case noticev1.Posted:
		return s.told(b).answered(b.Answers...)
	case turnv1.SessionReset:
		s.Past, s.Bytes, s.Retry, s.Summary, s.Compaction, s.Told = nil, 0, 0, nil, nil, nil
		return s.answered(b.By)
	case turnv1.SessionDeleted:
		return State{}
	case turnv1.Forked:
		return s.forked(ev, b)
	}
	return s
}

func (s State) started(ev envelope.Event, c turnv1.Claim) State {
	if s.Turn != nil {
		return s
	}
	answers := func(it Item) bool { return it.message() && slices.Contains(c.Messages, it.ID) }
	if !slices.ContainsFunc(s.Inbox, answers) {
		return s // it would answer nothing
	}
	entries, waiting := s.entriesOf(c.Messages)
	s.Told = waiting
	s.Compaction = nil // one that nobody asked for gives way
	s.Turn = &Turn{ID: c.Turn, Messages: slices.Clone(c.Messages), Entries: entries}
	s.Turn.claim(ev, c)
	return s
}

func (s State) continued(ev envelope.Event, c turnv1.Claim) State {
	if s.Turn == nil || s.Turn.ID != c.Turn || s.Turn.Open {
		return s
	}
	steered := slices.DeleteFunc(slices.Clone(c.Messages), func(id string) bool { return slices.Contains(s.Turn.Messages, id) })
	entries, waiting := s.entriesOf(steered)
	s.Told = waiting
	s.Compaction = nil // one claim at a time
	s.Turn = s.Turn.with(func(t *Turn) {
		t.closeCalls()
		t.Entries = appended(t.Entries, entries...)
		t.Messages = appended(t.Messages, steered...)
		t.claim(ev, c)
	})
	return s
}

func (s State) resumed(ev envelope.Event, c turnv1.Claim) State {
	if s.Turn == nil || s.Turn.ID != c.Turn || !s.Turn.Open || c.Round != s.Turn.Claim.Round || c.Attempt <= s.Turn.Claim.Attempt {
		return s
	}
	s.Turn = s.Turn.with(func(t *Turn) { t.claim(ev, c) })
	return s
}

func (s State) stepped(ev envelope.Event, b turnv1.Stepped) State {
	if !s.answers(b.Outcome) || !s.Turn.Open {
		return s
	}
	var calls []Call
	for _, c := range b.Calls {
		call := Call{ID: c.ID, Tool: c.Tool, Arguments: string(c.Arguments)}
		switch {
		case c.Refusal != "":
			call.Done, call.Own, call.Failed, call.Result = true, true, true, "not called: "+c.Refusal
			if s.Turn.failures(call) == 1 {
				call.note(noteAgain)
			}
		case c.Answer != "":
			call.Done, call.Own, call.Result = true, true, cut(c.Answer)
		}
		calls = append(calls, call)
	}
	s = s.spent(b.Outcome, true)
	s.Turn = s.Turn.with(func(t *Turn) {
		t.Entries = appended(t.Entries, Entry{Role: Assistant, Text: b.Text, Calls: calls})
		t.Calls += len(calls)
		t.close(ev)
	})
	return s
}

// overflowed leaves everything as it was before the call: it is made again, with less. Later requests are shorter, too.
func (s State) overflowed(ev envelope.Event, b turnv1.Overflowed) State {
	if !s.answers(b.Outcome) || !s.Turn.Open {
		return s
	}
	s = s.spent(b.Outcome, false)
	if b.Tokens > 0 { // not less than any model has: a short request that is refused was not too long
		room := max(b.Tokens/2, smallestRoom)
		if s.Room == 0 || room < s.Room {
			s.Room = room
		}
	}
	s.Turn = s.Turn.with(func(t *Turn) {
		t.Overflows++
		t.close(ev)
	})
	return s
}

// spent accounts for the model call of an outcome. One that has no model was not about a call. answered says that there was
// an answer, whole or not, which has used something even if the provider did not say how much.
func (s State) spent(o turnv1.Outcome, answered bool) State {
	if o.Model == "" {
		return s
	}
	s.Usage = s.Usage.Plus(o.Usage, answered)
	s.Turn = s.Turn.with(func(t *Turn) {
		t.Usage = t.Usage.Plus(o.Usage, answered)
		t.Model = o.Model
	})
	return s
}

// result gives an open call its result. An answer to anything else is dropped, so the first one wins.
func (s State) result(ev envelope.Event, turn, call string, end func(*Call)) State {
	return s.openCall(turn, call, func(t *Turn, c *Call) {
		c.Done, c.Waits = true, ""
		end(c)
		if c.Failed && t.failures(*c) == 2 { // this one included
			c.note(noteAgain)
		}
		t.Cause = ev.ID
	})
}

// openCall changes an open call of the turn, in memory of its own. When there is none, s stays as it is.
func (s State) openCall(turn, call string, change func(*Turn, *Call)) State {
	if s.Turn == nil || s.Turn.ID != turn || s.Turn.Open {
		return s
	}
	i := slices.IndexFunc(s.Turn.calls(), func(c Call) bool { return c.ID == call && !c.Done })
	if i < 0 {
		return s
	}
	s.Turn = s.Turn.with(func(t *Turn) {
		t.Entries = slices.Clone(t.Entries)
		last := &t.Entries[len(t.Entries)-1]
		last.Calls = slices.Clone(last.Calls)
		change(t, &last.Calls[i])
	})
	return s
}

// cancelled takes messages out; when it names the running turn, it ends that.
func (s State) cancelled(ev envelope.Event, b turnv1.Cancelled) State {
	s = s.stopped(b.By)
	switch {
	case b.Turn == "":
		s.Inbox = without(s.Inbox, b.Answers...)
		return s
	case s.Turn == nil || s.Turn.ID != b.Turn:
		return s
	}
	if b.Model != "" {
		s.Usage = s.Usage.Plus(b.Usage, true)
	}
	switch b.Reason { //nolint:exhaustive // the others end a turn as old events do, which have no reason
	case turnv1.Interrupted:
		return s.end(ev.ID, b.Answers, noteInterrupted)
	}
	return s.end(ev.ID, b.Answers, noteCancelled)
}

// end finishes the turn with what was said last, and takes out of the inbox exactly the messages that it answers.
func (s State) end(by string, answers []string, last string) State {
	t := s.Turn.with((*Turn).closeCalls)
	t.Entries = appended(t.Entries, Entry{Role: Assistant, Text: last})
	x := Exchange{Turn: t.ID, Entries: t.Entries, Bytes: size(t.Entries)}
	past := appended(s.Past, x)
	s.Bytes += x.Bytes
	for ; s.Bytes > Kept && len(past) > 1; past = past[1:] {
		s.Bytes -= past[0].Bytes
		s.Retry = max(0, s.Retry-past[0].Bytes) // else a history at its bound would never be due again
	}
	s.Past, s.Turn, s.Compaction, s.Ended = past, nil, nil, by
	s.Inbox = without(s.Inbox, answers...)
	return s
}

// answers says whether an outcome is of the last claim.
func (s State) answers(o turnv1.Outcome) bool {
	t := s.Turn
	return t != nil && o.Turn == t.ID && o.Round == t.Claim.Round && o.Attempt == t.Claim.Attempt
}

func (t *Turn) claim(ev envelope.Event, c turnv1.Claim) {
	t.Open = true
	t.Cause = ev.ID
	t.Claim = Claim{
		Cursor: ev.Cursor, Round: c.Round, Attempt: c.Attempt, Worker: c.Worker,
		At: stamp(ev.Time), Deadline: stamp(c.Deadline),
	}
}

// close ends the claim with an event that leaves the turn running.
func (t *Turn) close(ev envelope.Event) {
	t.Open = false
	t.Cause = ev.ID
	// No more than the claim allowed: a clock that was stepped meanwhile must not end the turn for its length.
	t.Spent += min(max(0, stamp(ev.Time).Sub(t.Claim.At)), max(0, t.Claim.Deadline.Sub(t.Claim.At)))
}

// closeCalls gives every call without a result the result "cancelled".
func (t *Turn) closeCalls() {
	if !slices.ContainsFunc(t.calls(), func(c Call) bool { return !c.Done }) {
		return
	}
	t.Entries = slices.Clone(t.Entries)
	last := &t.Entries[len(t.Entries)-1]
	last.Calls = slices.Clone(last.Calls)
	for i := range last.Calls {
		if c := &last.Calls[i]; !c.Done {
			c.Done, c.Own, c.Result, c.Waits = true, true, "cancelled", ""
		}
	}
}

func without(inbox []Item, ids ...string) []Item {
	var rest []Item
	for _, it := range inbox {
		if !slices.Contains(ids, it.ID) {
			rest = append(rest, it)
		}
	}
	return rest
}

// stamp drops what a snapshot would not keep of a time.
func stamp(t time.Time) time.Time { return t.Round(0).UTC() }
