package turn

import (
	"encoding/json"
	"slices"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// notRun is the result of a call that had none when its conversation was forked. It may run in the other session; here it
// never will.
const notRun = "not run in this fork: it had no result yet when the conversation was forked"

// forked begins a session with the past of another one. Anywhere but at the beginning it means nothing.
func (s State) forked(ev envelope.Event, b turnv1.Forked) State {
	if ev.Prev != 0 {
		return s
	}
	for _, old := range lines(b.Events) {
		s = s.Inherit(old)
	}
	return s.settled(ev, b)
}

// Inherit folds an event of another session as a part of the past of this one. The event of a result cannot be read here, so
// no cursor leads to it.
func (s State) Inherit(ev envelope.Event) State {
	if _, ok := ev.Body.(callv1.Completed); ok {
		ev.Cursor = 0
	}
	return s.Apply(ev)
}

// settled ends what was under way in the session that the past is of.
func (s State) settled(ev envelope.Event, b turnv1.Forked) State {
	s.Compaction, s.Stop, s.Orders, s.Usage = nil, nil, nil, Total{}
	if s.Ended != "" {
		s.Ended = ev.ID // what follows from the past follows from the fork
	}
	if b.Model != "" {
		s.Settings.Model, s.Room = b.Model, 0
	}
	if s.Turn == nil {
		return s
	}
	s.Turn = s.Turn.with(func(t *Turn) {
		t.giveUpCalls()
		t.Open, t.Cause = false, ev.ID
		t.Claim = Claim{Round: t.Claim.Round, Attempt: t.Claim.Attempt}
		t.Usage, t.Spent = Total{}, 0
		if b.Model != "" {
			t.Model, t.Overflows = "", 0
		}
	})
	return s
}

// giveUpCalls says of every call without a result that it was not run.
func (t *Turn) giveUpCalls() {
	if !slices.ContainsFunc(t.calls(), func(c Call) bool { return !c.Done }) {
		return
	}
	t.Entries = slices.Clone(t.Entries)
	last := &t.Entries[len(t.Entries)-1]
	last.Calls = slices.Clone(last.Calls)
	for i := range last.Calls {
		if c := &last.Calls[i]; !c.Done {
			c.Done, c.Own, c.Failed, c.Result, c.Waits = true, true, true, notRun, ""
		}
	}
}

// lines are the events that a fork has of its past. One that cannot be read is passed by, as Apply passes by what it does
// not know.
func lines(raw []json.RawMessage) []envelope.Event {
	events := make([]envelope.Event, 0, len(raw))
	for _, line := range raw {
		if ev, err := envelope.ParseLine(line, registry.Decode); err == nil {
			events = append(events, ev)
		}
	}
	return events
}

// Unfold is the history of a session as one list: if it began as a fork, the events of that past stand before its own, then
// the fork without them. Folding it comes to the same, but for the cursors of results.
func Unfold(history []envelope.Event) []envelope.Event {
	if len(history) == 0 {
		return nil
	}
	first := history[0]
	b, ok := first.Body.(turnv1.Forked)
	if !ok || first.Prev != 0 {
		return history
	}
	past := lines(b.Events)
	b.Events = nil
	first.Body = b
	return slices.Concat(past, []envelope.Event{first}, history[1:])
}

// Files are the attachments that the model may be shown or told of, in no order; some perhaps more than once.
func (s State) Files() []messagev1.File {
	var files []messagev1.File
	add := func(b *Beside) {
		if b != nil {
			files = append(files, b.Files...)
		}
	}
	for _, it := range s.Inbox {
		add(it.Beside)
	}
	said := func(entries []Entry) {
		for _, e := range entries {
			add(e.Beside)
		}
	}
	for _, x := range s.Past {
		said(x.Entries)
	}
	if s.Turn != nil {
		said(s.Turn.Entries)
	}
	return files
}
