package turn

import (
	"fmt"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// maxOverflows is how often a turn's request may be too long for the model.
const maxOverflows = 3

// Next says what the session needs now, or nil when it is quiescent: no turn or compaction runs and the inbox is empty, or
// the turn waits for open calls and nobody has asked for anything else. Only then may a doorbell be acked.
func (s State) Next(v machine.View, r Rules) machine.Step {
	switch {
	case len(s.Orders) > 0:
		return s.reply(s.Orders[0], v, r)
	case s.Stop != nil:
		return s.stop(r)
	}
	if step := s.overfull(r); step != nil {
		return step
	}
	switch {
	case s.Turn != nil:
		return s.run(v, r)
	case s.Compaction != nil:
		return s.compact(v, r)
	}
	return s.idle(v, r)
}

// stop ends what the stop binds to, in one event: the messages that waited and the turn that ran; before that a compaction
// that somebody waits for. Whoever asks does it: the owner of a claim is fenced by this very append.
func (s State) stop(r Rules) machine.Step {
	st := s.Stop
	if c := s.Compaction; c != nil && st.Compaction == c.ID && s.Turn == nil {
		return machine.Append{Cause: st.ID, Tell: c.Claim.Worker, Body: turnv1.CompactionFailed{
			Compaction: c.ID, Attempt: c.Claim.Attempt, By: c.By, Cause: turnv1.Withdrawn, Text: "Stopped; the conversation is as it was.",
		}}
	}
	var answers []string
	turn, tell := "", ""
	if s.Turn != nil && s.Turn.ID == st.Turn {
		turn, tell = st.Turn, s.owner()
		answers = slices.Clone(s.Turn.Messages)
	}
	waited := 0
	for _, it := range s.Inbox {
		if it.message() && slices.Contains(st.Messages, it.ID) && !slices.Contains(answers, it.ID) {
			answers = append(answers, it.ID)
			waited++
		}
	}
	switch {
	case len(answers) == 0 && st.Withdrew:
		return post(st.ID, "Stopped.")
	case len(answers) == 0:
		return post(st.ID, "There is nothing to stop.")
	}
	text := "Stopped."
	if waited > 0 && turn != "" {
		text = fmt.Sprintf("Stopped, and %s dropped.", counted(waited, "waiting message"))
	}
	body := turnv1.Cancelled{Turn: turn, Answers: answers, By: st.ID, Reason: turnv1.Stopped, Text: text}
	if turn != "" {
		body.Model, body.Usage = s.lost(r)
	}
	return machine.Append{Cause: st.ID, Tell: tell, Body: body}
}

// lost is the model call that is cut off when the running turn is cancelled: the provider tells what it has used at the end
// of an answer only, so the request is estimated, as the least that it was. Without an open call it is nothing.
func (s State) lost(r Rules) (model string, u turnv1.Usage) {
	t := s.Turn
	if !t.Open {
		return "", turnv1.Usage{}
	}
	if model = t.Model; model == "" {
		model = s.ModelRef(r)
	}
	return model, turnv1.Usage{Input: (s.Bytes + size(t.Entries)) / bytesPerToken, Estimated: true}
}

// overfull drops messages when more wait than may, and says so. The one that comes next when no turn runs does not wait:
// else it would depend on how soon somebody looks whether it counts.
func (s State) overfull(r Rules) machine.Step {
	var waiting []Item
	for _, it := range s.Inbox {
		if it.message() && (s.Turn == nil || !slices.Contains(s.Turn.Messages, it.ID)) {
			waiting = append(waiting, it)
		}
	}
	if s.Turn == nil && len(waiting) > 0 {
		waiting = waiting[1:]
	}
	over := len(waiting) - r.Queue.Cap
	if r.Queue.Cap == 0 || over <= 0 {
		return nil
	}
	newest := waiting[len(waiting)-1].ID
	dropped, which := waiting[len(waiting)-over:], "This message was not taken"
	if over > 1 {
		which = fmt.Sprintf("%d messages were not taken", over)
	}
	if r.Queue.Full == DropOldest {
		dropped, which = waiting[:over], counted(over, "message")+" that waited longest dropped"
	}
	return machine.Append{Beside: true, Cause: newest, Body: turnv1.Cancelled{
		Answers: ids(dropped), By: newest, Reason: turnv1.QueueFull,
		Text: fmt.Sprintf("%s: %s already (limits.queue). Send it again later, or /stop what waits.", which, waits(r.Queue.Cap)),
	}}
}

func waits(n int) string {
	switch n {
	case 0:
		return "nothing waits"
	case 1:
		return "1 message waits"
	}
	return fmt.Sprintf("%d messages wait", n)
}

// head is what comes next in the inbox, or nil.
func (s State) head() *Item {
	if len(s.Inbox) == 0 {
		return nil
	}
	return &s.Inbox[0]
}

// idle is the step when neither a turn nor a compaction runs.
func (s State) idle(v machine.View, r Rules) machine.Step {
	head := s.head()
	switch {
	case head == nil && s.due(r):
		return s.beginCompaction(v, r, "", false)
	case head == nil:
		return nil
	case head.Verb == messagev1.New && (!head.Keep || len(s.Past) == 0 && s.Summary == nil):
		return machine.Append{Body: turnv1.SessionReset{By: head.ID, Text: "A new beginning."}, Cause: head.ID}
	case head.Verb == messagev1.New && len(s.Past) == 0:
		return post(head.ID, "A new beginning: what was before is a summary already.")
	case !head.message() && len(s.Past) == 0:
		return post(head.ID, "There is nothing to summarise.")
	case !head.message():
		return s.beginCompaction(v, r, head.ID, true)
	case s.starved(r):
		return s.beginCompaction(v, r, "", false)
	}
	items := s.waiting()
	switch s.mode(r) {
	case Followup: // one message, one turn; what arrives meanwhile waits for its own
		items = items[:1]
	case Collect:
		until := quiet(items, r.Queue.Debounce)
		if wait := until.Sub(v.Now); wait > 0 && wait <= 2*r.Queue.Debounce { // longer: their clock is wrong
			return machine.Wait{Until: until}
		}
	case Steer, Interrupt:
	}
	t := &Turn{ID: head.ID + "/t", Messages: ids(items)}
	return machine.Append{Body: turnv1.Started{Claim: t.newClaim(v, r.Limits, 1, 1, t.Messages)}, Cause: items[len(items)-1].ID, Claim: true}
}

// quiet is when nothing has come for long enough, or the first has waited for ten times as long.
func quiet(items []Item, d time.Duration) time.Time {
	until, longest := items[len(items)-1].At.Add(d), items[0].At.Add(10*d)
	if longest.Before(until) {
		return longest
	}
	return until
}

// mode is the queue mode that holds here and now.
func (s State) mode(r Rules) Mode {
	if s.Settings.Queue.valid() && !r.Client {
		return s.Settings.Queue
	}
	return r.Queue.Mode
}

// run is the step while a turn runs.
func (s State) run(v machine.View, r Rules) machine.Step {
	t := s.Turn
	waiting := s.waiting()
	switch {
	case len(waiting) > 0 && s.mode(r) == Interrupt:
		newest := waiting[len(waiting)-1].ID
		body := turnv1.Cancelled{
			Turn: t.ID, Answers: slices.Clone(t.Messages), By: newest, Reason: turnv1.Interrupted, Text: "Interrupted by your next message.",
		}
		body.Model, body.Usage = s.lost(r)
		return machine.Append{Cause: newest, Tell: s.owner(), Body: body}
	case s.Compaction != nil:
		return s.compact(v, r)
	case t.Open:
		return t.call(v, r.Limits)
	case slices.ContainsFunc(t.calls(), func(c Call) bool { return !c.Done }):
		return s.abandon()
	case t.Overflows >= maxOverflows:
		return t.fail(turnv1.ContextOverflow,
			"This conversation is too long for the model, even after it was shortened. "+
				"Begin afresh with /new, or choose a model with a larger window (/model).")
	}
	if step := t.over(r); step != nil {
		return step
	}
	if t.Overflows > 0 && !t.Squeezed && len(s.Past) > 0 {
		return s.beginCompaction(v, r, "", true)
	}
	messages := t.Messages
	if s.mode(r) == Steer {
		messages = appended(messages, ids(waiting)...)
	}
	return machine.Append{Body: turnv1.Continued{Claim: t.newClaim(v, r.Limits, t.Claim.Round+1, 1, messages)}, Cause: t.Cause, Claim: true}
}

// abandon ends a turn that waited for nothing but people when a new beginning was asked for: it would have to wait with them,
// for a day perhaps. What binds is what the turn waited for then, and not now: a call that is parked later rings nobody here.
func (s State) abandon() machine.Step {
	t := s.Turn
	for _, it := range s.Inbox {
		if it.Ends == t.ID && it.EndsRound == t.Claim.Round {
			return machine.Append{Cause: it.ID, Tell: t.owner(), Body: turnv1.Cancelled{
				Turn: t.ID, Answers: slices.Clone(t.Messages), By: it.ID, Reason: turnv1.Stopped, Text: "Stopped: a new beginning was asked for.",
			}}
		}
	}
	return nil
}

// call is the step while a model call is claimed. Its deadline is of no interest here: it ends the effect, by a clock that nobody
// sets, and whoever meets the claim has asked its owner.
func (t *Turn) call(v machine.View, l Limits) machine.Step {
	c := t.Claim
	switch {
	case v.Mine == c.Cursor:
		return machine.Perform{Claim: c.Cursor, Deadline: c.Deadline}
	case v.Gone != c.Cursor:
		return machine.Held{Claim: c.Cursor, Worker: c.Worker, Since: c.At, Deadline: c.Deadline, Attempt: c.Attempt}
	case c.Attempt >= l.Attempts:
		return t.fail(turnv1.Exhausted, fmt.Sprintf(
			"I could not answer: the work on it was interrupted %d times. Please send the message again.", c.Attempt))
	}
	return machine.Append{
		Body:  turnv1.Resumed{Claim: t.newClaim(v, l, c.Round, c.Attempt+1, t.Messages), From: c.Worker},
		Cause: t.Cause, Claim: true,
	}
}

func (t *Turn) newClaim(v machine.View, l Limits, round, attempt int, messages []string) turnv1.Claim {
	return turnv1.Claim{
		Turn: t.ID, Round: round, Attempt: attempt, Worker: v.Worker, Messages: slices.Clone(messages),
		Deadline: v.Now.Add(min(l.CallTime, l.TurnTime-t.Spent) + l.Grace),
	}
}

func (t *Turn) fail(cause turnv1.Cause, text string) machine.Step {
	return machine.Append{Body: turnv1.Failed{
		Outcome: turnv1.Outcome{Turn: t.ID, Round: t.Claim.Round, Attempt: t.Claim.Attempt},
		Answers: slices.Clone(t.Messages), Cause: cause, Text: text,
	}, Cause: t.Cause, Tell: t.owner()}
}

// owner is the worker whose open claim ends with the running turn, or "".
func (s State) owner() string {
	if s.Compaction != nil {
		return s.Compaction.Claim.Worker
	}
	return s.Turn.owner()
}

func (t *Turn) owner() string {
	if t.Open {
		return t.Claim.Worker
	}
	return ""
}
