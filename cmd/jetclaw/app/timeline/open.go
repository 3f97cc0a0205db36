package timeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
	"github.com/jetclaw/jetclaw/services/tools/call"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// The services whose steps end waits.
const (
	turnsService     = "turns"
	toolsService     = "tools"
	approvalsService = "approvals"
	outboxService    = "outbox"
)

// folds are the machines' own states of the session.
type folds struct {
	turn     turn.State
	tools    call.State
	approval approval.State
	outbox   delivery.State
}

func foldOf(events []envelope.Event) (f folds) {
	for _, ev := range events {
		f.turn, f.tools = f.turn.Apply(ev), f.tools.Apply(ev)
		f.approval, f.outbox = f.approval.Apply(ev), f.outbox.Apply(ev)
	}
	return f
}

// people are the questions that nobody has answered.
func (b *builder) people(f folds) []Wait {
	var list []Wait
	for _, a := range f.approval.Open {
		tool := short(a.Parked.Tool)
		switch e := b.approvals[a.ID]; {
		case a.Over: // it is about to be cancelled
		case !a.Asked:
			list = append(list, b.overdue(Wait{
				For: ForStep, What: "the question to a person about " + tool, Notes: []string{approvalsService}, Since: a.At, service: approvalsService,
			}))
		default:
			w := Wait{
				For: ForPerson, What: "a person's decision on " + tool, Notes: []string{"approval " + a.ID}, Since: a.At,
				Until: a.Expires, UntilIs: Expires, service: approvalsService,
			}
			if e != nil {
				w.Since, w.Cursor = e.Time, firstCursor(e)
			}
			list = append(list, w)
		}
	}
	return list
}

// firstCursor is that of a group's first event.
func firstCursor(e *Entry) uint64 {
	for e != nil && e.Cursor == 0 {
		if len(e.Entries) == 0 {
			return 0
		}
		e = e.Entries[0]
	}
	if e == nil {
		return 0
	}
	return e.Cursor
}

// ofTurns is what the turn machine waits for, but for calls.
func (b *builder) ofTurns(f folds) []Wait {
	s := f.turn
	var list []Wait
	step := func(what string, since time.Time) {
		list = append(list, b.overdue(Wait{For: ForStep, What: what, Notes: []string{turnsService}, Since: since, service: turnsService}))
	}
	for _, o := range s.Orders {
		step("an answer to /"+string(o.Verb), b.timeOf(o.ID))
	}
	if s.Stop != nil {
		step("the end that was asked for", b.timeOf(s.Stop.ID))
	}
	switch t := s.Turn; {
	case s.Compaction != nil:
		list = append(list, b.claimed(ForCompaction, "the model's summary of what was before", s.Compaction.Claim, s.Settings.Model))
	case t == nil && len(s.Inbox) > 0:
		step("a turn for what has come", s.Inbox[0].At)
	case t == nil:
	case t.Open:
		w := b.claimed(ForModel, "the model's answer", t.Claim, s.Settings.Model)
		if t.Claim.Round > 1 {
			w.Notes = append([]string{fmt.Sprintf("round %d", t.Claim.Round)}, w.Notes...)
		}
		list = append(list, w)
	case len(s.OpenCalls()) == 0:
		step("the next model call", b.timeOf(t.Cause))
	}
	return append(list, queued(s)...)
}

// claimed is a wait for a model. Which one is asked is nowhere but in the outcome: what is chosen for the session says it, or
// else which one has answered last.
func (b *builder) claimed(kind Wanted, what string, c turn.Claim, chosen string) Wait {
	w := Wait{For: kind, What: what, Since: c.At, Cursor: c.Cursor, Until: c.Deadline, UntilIs: Deadline, service: turnsService}
	switch {
	case chosen != "":
		w.Notes = append(w.Notes, "of "+short(chosen))
	case b.model != "":
		w.Notes = append(w.Notes, short(b.model)+" answered last")
	}
	w.Notes = append(w.Notes, fmt.Sprintf("attempt %d", c.Attempt), "worker "+c.Worker)
	return w
}

// queued are the messages and commands that come after the turn that runs.
func queued(s turn.State) []Wait {
	if s.Turn == nil {
		return nil
	}
	var behind []turn.Item
	for _, it := range s.Inbox {
		if !slices.Contains(s.Turn.Messages, it.ID) {
			behind = append(behind, it)
		}
	}
	if len(behind) == 0 {
		return nil
	}
	return []Wait{{For: ForTurn, What: "the end of the turn", Notes: []string{fmt.Sprintf("%d waiting behind it", len(behind))}, Since: behind[0].At}}
}

// timeOf is the time of an event of the session.
func (b *builder) timeOf(id string) time.Time {
	if e := b.at[id]; e != nil {
		return e.Time
	}
	return time.Time{}
}

// ofTools is what open calls wait for, but for people.
func (b *builder) ofTools(f folds) []Wait {
	var list []Wait
	for _, c := range f.tools.Calls {
		tool := short(c.Tool)
		w := Wait{For: ForStep, Notes: []string{toolsService}, Since: b.timeOf(c.Cause), service: toolsService}
		switch c.Phase {
		case call.Asked:
			w.What = "the gate's word on " + tool
		case call.Allowed, call.Refused:
			w.What = "what follows from the person's decision on " + tool
		case call.Awaiting: // the approval says it
			continue
		case call.Dispatched:
			list = append(list, b.executing(f.tools.Turn, c)...)
			continue
		}
		list = append(list, b.overdue(w))
	}
	return list
}

// executing is a wait for a call that was handed to its executor.
func (b *builder) executing(turn string, c call.Call) []Wait {
	e := b.calls[callKey{turn, c.ID}]
	if e == nil || !e.Open {
		return nil
	}
	f := e.Facts.(*Call)
	w := Wait{service: f.Executor, call: callKey{turn, c.ID}}
	if f.startedAt == 0 {
		w.For, w.What, w.Since, w.Cursor = ForExecutor, fmt.Sprintf("executor %s, which has not started %s", f.Executor, f.Tool), b.timeOf(c.Cause), f.handedAt
		return []Wait{b.overdue(w)}
	}
	w.For, w.What, w.Cursor, w.Until, w.UntilIs = ForTool, "tool "+f.Tool+", which runs", f.startedAt, f.Deadline, Deadline
	w.Notes = []string{fmt.Sprintf("executor %s", f.Executor), fmt.Sprintf("attempt %d", f.Attempts), "worker " + f.Worker}
	for _, s := range e.Entries {
		if s.Cursor == f.startedAt {
			w.Since = s.Time
		}
	}
	return []Wait{w}
}

// ofOutbox is what the first thing waits for that is to be shown.
func (b *builder) ofOutbox(f folds) []Wait {
	head, ok := f.outbox.Head()
	if !ok {
		return nil
	}
	channel := f.outbox.Channel
	w := Wait{For: ForDelivery, Since: head.Since, Cursor: b.cursors[head.Last], service: outboxService}
	switch head.Phase {
	case delivery.Pending:
		w = b.overdue(Wait{
			For: ForStep, What: fmt.Sprintf("the delivery of %s to %s", head.Kind, channel), Notes: []string{outboxService},
			Since: b.timeOf(head.Last), service: outboxService,
		})
	case delivery.Started:
		w.What, w.Until, w.UntilIs = channel+": whether it has arrived", head.Deadline, Deadline
		w.Notes = []string{fmt.Sprintf("attempt %d", head.Attempt), "worker " + head.Worker}
	case delivery.Deferred:
		w.What, w.Until, w.UntilIs = channel+": the next attempt", head.Due, Due
		if tried := head.Attempt - head.Untried; tried > 0 {
			w.Notes = append(w.Notes, "after "+counted(tried, "attempt"))
		}
		w.Notes = append(w.Notes, short(head.Reason))
	case delivery.Unknown:
		w.What = channel + ": the next attempt"
		w.Notes = []string{fmt.Sprintf("attempt %d may have arrived", head.Attempt)}
	}
	if more := len(f.outbox.Queue) - 1; more > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("%d more behind it", more))
	}
	return []Wait{w}
}
