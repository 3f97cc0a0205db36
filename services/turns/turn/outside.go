package turn

import (
	"slices"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// fromOutside folds what people send. The same fact may be stored twice; the second one is passed by.
func (s State) fromOutside(ev envelope.Event) State {
	if s.knows(ev) {
		return s
	}
	seen := s.Seen[max(0, len(s.Seen)+1-remembered):]
	s.Seen = appended(seen, Fact{ID: ev.ID, Key: ev.Key})
	switch b := ev.Body.(type) {
	case messagev1.Received:
		s.Inbox = appended(s.Inbox, Item{ID: ev.ID, Text: b.Text, At: stamp(ev.Time), Beside: besides(b)})
	case messagev1.Edited:
		i := slices.IndexFunc(s.Inbox, func(it Item) bool { return it.ID == b.Message && it.message() })
		if i < 0 || s.Turn != nil && slices.Contains(s.Turn.Messages, b.Message) {
			return s // answered, or shown to the model already: the edit is information only
		}
		s.Inbox = slices.Clone(s.Inbox)
		s.Inbox[i].Text = b.Text
	case messagev1.Control:
		return s.command(ev.ID, b)
	}
	return s
}

func (s State) knows(ev envelope.Event) bool {
	return slices.ContainsFunc(s.Seen, func(f Fact) bool { return f.ID == ev.ID || f.Key != "" && f.Key == ev.Key }) ||
		slices.ContainsFunc(s.Inbox, func(it Item) bool { return it.ID == ev.ID })
}

// command gives a command its place: stop binds to what is there now, new and compact wait for what came before them, the
// others are answered at once.
func (s State) command(id string, b messagev1.Control) State {
	switch b.Verb {
	case messagev1.Stop:
		stop := &Stop{ID: id}
		if s.Stop != nil { // the one that waits is carried out for what came since, too; this one is told so
			s.Orders = appended(s.Orders, Order{ID: id, Verb: b.Verb})
			stop.ID, stop.Withdrew = s.Stop.ID, s.Stop.Withdrew
		}
		for _, it := range s.Inbox {
			if it.message() {
				stop.Messages = append(stop.Messages, it.ID)
			}
		}
		switch {
		case s.Turn != nil:
			stop.Turn = s.Turn.ID
		case s.Compaction != nil:
			stop.Compaction = s.Compaction.ID
		}
		s.Stop = stop
	case messagev1.New, messagev1.Compact:
		it := Item{ID: id, Verb: b.Verb, Keep: b.Verb == messagev1.New && b.Argument == Keep}
		if t := s.Turn; b.Verb == messagev1.New && t != nil && !t.Open && t.parked() {
			it.Ends, it.EndsRound = t.ID, t.Claim.Round
		}
		s.Inbox = appended(s.Inbox, it)
	case messagev1.Model, messagev1.Queue, messagev1.Status, messagev1.Help:
		s.Orders = appended(s.Orders, Order{ID: id, Verb: b.Verb, Argument: b.Argument})
	case messagev1.Approve, messagev1.Deny: // intake makes decisions of them; those are not for this machine
	}
	return s
}

// Keep is the argument of the command New that keeps a summary of what was before.
const Keep = "keep"

// stopped forgets a stop that was carried out.
func (s State) stopped(by string) State {
	if s.Stop != nil && s.Stop.ID == by {
		s.Stop = nil
	}
	return s
}

// answered forgets commands that have their answer.
func (s State) answered(commands ...string) State {
	if len(commands) == 0 {
		return s
	}
	for _, id := range commands {
		s = s.stopped(id)
	}
	if slices.ContainsFunc(s.Orders, func(o Order) bool { return slices.Contains(commands, o.ID) }) {
		var rest []Order
		for _, o := range s.Orders {
			if !slices.Contains(commands, o.ID) {
				rest = append(rest, o)
			}
		}
		s.Orders = rest
	}
	if slices.ContainsFunc(s.Inbox, func(it Item) bool { return !it.message() && slices.Contains(commands, it.ID) }) {
		var rest []Item
		for _, it := range s.Inbox {
			if it.message() || !slices.Contains(commands, it.ID) {
				rest = append(rest, it)
			}
		}
		s.Inbox = rest
	}
	return s
}

func (s State) configured(b turnv1.SessionConfigured) State {
	switch b.Setting {
	case turnv1.ModelSetting:
		s.Settings.Model, s.Room = b.Value, 0
	case turnv1.QueueSetting:
		s.Settings.Queue = Mode(b.Value)
	}
	return s.answered(b.By)
}
