package turn

import (
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Notes that stand where an answer would, so that the model knows and the two sides keep taking turns.
const (
	noteFailed    = "[no answer was given: the turn failed]"
	noteCancelled = "[no answer was given: the person stopped it]"
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
	case turnv1.Completed:
		if !s.answers(b.Outcome) || !s.Turn.Open {
			return s
		}
		s.Usage = sum(s.Usage, b.Usage)
		return s.end(b.Answers, b.Text)
	case turnv1.Failed:
		if !s.answers(b.Outcome) { // counts while waiting too: too many rounds, no time left
			return s
		}
		s.Usage = sum(s.Usage, b.Usage)
		return s.end(b.Answers, noteFailed)
	case turnv1.Cancelled:
		if s.Turn == nil || s.Turn.ID != b.Turn {
			return s
		}
		return s.end(b.Answers, noteCancelled)
	case callv1.Completed:
		return s.result(ev, b.Turn, b.Call, shown(b))
	case callv1.Denied:
		return s.result(ev, b.Turn, b.Call, "denied: "+b.Reason)
	case turnv1.SessionReset:
		s.Past = nil
		s.Inbox = without(s.Inbox, b.By)
		return s
	case turnv1.SessionDeleted:
		return State{}
	}
	return s
}

// fromOutside folds what people send. The same fact may be stored twice; the second one is passed by.
func (s State) fromOutside(ev envelope.Event) State {
	if s.knows(ev) {
		return s
	}
	seen := s.Seen[max(0, len(s.Seen)+1-remembered):]
	s.Seen = appended(seen, Fact{ID: ev.ID, Key: ev.Key})
	switch b := ev.Body.(type) {
	case messagev1.Received:
		s.Inbox = appended(s.Inbox, Item{ID: ev.ID, Text: b.Text})
	case messagev1.Edited:
		i := slices.IndexFunc(s.Inbox, func(it Item) bool { return it.ID == b.Message && !it.New })
		if i < 0 || s.Turn != nil && slices.Contains(s.Turn.Messages, b.Message) {
			return s // answered, or shown to the model already: the edit is information only
		}
		s.Inbox = slices.Clone(s.Inbox)
		s.Inbox[i].Text = b.Text
	case messagev1.Control:
		switch {
		case b.Verb == messagev1.New:
			s.Inbox = appended(s.Inbox, Item{ID: ev.ID, New: true})
		case b.Verb == messagev1.Stop && s.Turn != nil && s.Turn.Stop == "":
			s.Turn = s.Turn.with(func(t *Turn) { t.Stop = ev.ID })
		}
	}
	return s
}

func (s State) knows(ev envelope.Event) bool {
	return slices.ContainsFunc(s.Seen, func(f Fact) bool { return f.ID == ev.ID || f.Key != "" && f.Key == ev.Key }) ||
		slices.ContainsFunc(s.Inbox, func(it Item) bool { return it.ID == ev.ID })
}

func (s State) started(ev envelope.Event, c turnv1.Claim) State {
	if s.Turn != nil {
		return s
	}
	var entries []Entry
	for _, it := range s.Inbox {
		if !it.New && slices.Contains(c.Messages, it.ID) {
			entries = append(entries, Entry{Role: User, Text: it.Text})
		}
	}
	if entries == nil {
		return s // it would answer nothing
	}
	s.Turn = &Turn{ID: c.Turn, Messages: slices.Clone(c.Messages), Entries: entries}
	s.Turn.claim(ev, c)
	return s
}

func (s State) continued(ev envelope.Event, c turnv1.Claim) State {
	if s.Turn == nil || s.Turn.ID != c.Turn || s.Turn.Open {
		return s
	}
	s.Turn = s.Turn.with(func(t *Turn) {
		t.closeCalls()
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
		if c.Refusal != "" {
			call.Done, call.Result = true, "not called: "+c.Refusal
		}
		calls = append(calls, call)
	}
	s.Usage = sum(s.Usage, b.Usage)
	s.Turn = s.Turn.with(func(t *Turn) {
		t.Entries = appended(t.Entries, Entry{Role: Assistant, Text: b.Text, Calls: calls})
		t.Open = false
		t.Cause = ev.ID
		t.Spent += max(0, stamp(ev.Time).Sub(t.Claim.At))
	})
	return s
}

// result gives an open call its result. An answer to anything else is dropped, so the first one wins.
func (s State) result(ev envelope.Event, turn, call, text string) State {
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
		last.Calls[i].Done, last.Calls[i].Result = true, cut(text)
		t.Cause = ev.ID
	})
	return s
}

// end finishes the turn with what was said last, and takes out of the inbox exactly the messages that it answers.
func (s State) end(answers []string, last string) State {
	t := s.Turn.with((*Turn).closeCalls)
	t.Entries = appended(t.Entries, Entry{Role: Assistant, Text: last})
	past := appended(s.Past, Exchange{Turn: t.ID, Entries: t.Entries, Bytes: size(t.Entries)})
	total := 0
	for _, x := range past {
		total += x.Bytes
	}
	for ; total > Kept && len(past) > 1; past = past[1:] {
		total -= past[0].Bytes
	}
	s.Past, s.Turn = past, nil
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
			c.Done, c.Result = true, "cancelled"
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

func sum(a, b turnv1.Usage) turnv1.Usage {
	return turnv1.Usage{Input: a.Input + b.Input, Output: a.Output + b.Output}
}

// stamp drops what a snapshot would not keep of a time.
func stamp(t time.Time) time.Time { return t.Round(0).UTC() }
