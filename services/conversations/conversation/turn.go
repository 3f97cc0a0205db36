package conversation

import (
	"cmp"
	"slices"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// What a person is shown where an event carries no text.
const (
	stoppedText = "Stopped."
	resetText   = "A new conversation."
)

// turn folds an event of the turns service, with that service's own rules of what counts.
func (s State) turn(ev envelope.Event, b turnv1.Event) (State, Change) {
	switch b := b.(type) {
	case turnv1.Started:
		return s.started(ev, b.Claim), Change{}
	case turnv1.Continued:
		return s.continued(b.Claim, !s.Claim.Open), Change{}
	case turnv1.Resumed:
		higher := s.Claim.Open && b.Round == s.Claim.Round && b.Attempt > s.Claim.Attempt
		return s.continued(b.Claim, higher), Change{}
	case turnv1.Stepped:
		return s.stepped(ev, b)
	case turnv1.Overflowed:
		s = s.spent(b.Model, b.Usage).stopsAt(b.Outcome)
	case turnv1.Completed:
		return s.completed(ev, b)
	case turnv1.Failed:
		return s.failed(ev, b)
	case turnv1.Cancelled:
		return s.cancelled(ev, b)
	case turnv1.CompactionStarted, turnv1.CompactionFailed, turnv1.SessionCompacted:
		return s.compaction(ev, b)
	case turnv1.SessionConfigured:
		return s.answered(b.By).show(ev, b.Text, Due{})
	case turnv1.SessionReset:
		s = s.close(func(d Due) bool { return d.Kind == OpenCompaction }).answered(b.By)
		if b.Text == "" { // nothing is shown in the channel; here it is a line between two conversations
			return s.say(ev, Notice, resetText, "", "")
		}
		return s.show(ev, b.Text, Due{})
	case turnv1.Forked:
		return s.forked(ev, b)
	case turnv1.SessionDeleted: // see Apply
	}
	return s, Change{}
}

// started opens a turn that answers something.
func (s State) started(ev envelope.Event, c turnv1.Claim) State {
	waits := s.find(func(d Due) bool { return d.Kind == OpenMessage && slices.Contains(c.Messages, d.ID) }) >= 0
	if s.Claim.Turn != "" || c.Turn == "" || !waits && s.More == 0 {
		return s
	}
	s.Turns++
	return s.claim(c).open(ev, Due{Open: Open{Kind: OpenTurn, ID: c.Turn}})
}

// continued takes the next model call of the running turn, or the same one again.
func (s State) continued(c turnv1.Claim, next bool) State {
	if !next || c.Turn == "" || c.Turn != s.Claim.Turn {
		return s
	}
	return s.claim(c)
}

// claim takes a model call. A compaction that nobody has asked for gives way to it.
func (s State) claim(c turnv1.Claim) State {
	s.Claim = Claim{Turn: c.Turn, Round: c.Round, Attempt: c.Attempt, Open: true}
	return s.close(func(d Due) bool { return d.Kind == OpenCompaction })
}

// answers says whether an outcome is of the last claim.
func (s State) answers(o turnv1.Outcome) bool {
	c := s.Claim
	return c.Turn != "" && o.Turn == c.Turn && o.Round == c.Round && o.Attempt == c.Attempt
}

// stopsAt ends the model call of an outcome that leaves the turn running.
func (s State) stopsAt(o turnv1.Outcome) State {
	if s.answers(o) {
		s.Claim.Open = false
	}
	return s
}

// spent accounts for a model call. An outcome without a model was not about one.
func (s State) spent(model string, u turnv1.Usage) State {
	if model == "" {
		return s
	}
	s.Tokens += u.Input + u.Output
	if u.Priced {
		s.Cost += u.Cost
	}
	return s
}

// stepped opens the calls that leave the turn. What the model says beside them is shown to the channel only where a draft has
// shown the beginning of it.
func (s State) stepped(ev envelope.Event, b turnv1.Stepped) (State, Change) {
	s = s.spent(b.Model, b.Usage).stopsAt(b.Outcome)
	s.Calls += len(b.Calls)
	for _, c := range b.Calls {
		if c.Refusal == "" && c.Answer == "" && s.find(func(d Due) bool { return d.of(OpenCall, b.Turn, c.ID) }) < 0 {
			s = s.open(ev, Due{Open: Open{Kind: OpenCall, ID: c.ID}, Turn: b.Turn})
		}
	}
	i := slices.Index(s.Drafts, Draft{b.Turn, b.Round})
	if i < 0 {
		return s.say(ev, Assistant, b.Text, b.Turn, b.Model)
	}
	next, change := s.show(ev, b.Text, Due{})
	if change.Message != nil { // it has become what is shown
		next.Drafts = without(next.Drafts, i)
		next, change = next.as(Assistant, b.Turn, b.Model, change)
	}
	return next, change
}

func (s State) completed(ev envelope.Event, b turnv1.Completed) (State, Change) {
	s = s.spent(b.Model, b.Usage)
	if s.answers(b.Outcome) && s.Claim.Open {
		s = s.end(b.Answers)
	}
	s.Answers++
	return s.over(b.Turn, false).ended(ev, b.Turn, Assistant, b.Text, b.Model)
}

// failed counts while the turn waits for its calls, too.
func (s State) failed(ev envelope.Event, b turnv1.Failed) (State, Change) {
	s = s.spent(b.Model, b.Usage)
	if s.answers(b.Outcome) {
		s = s.end(b.Answers)
	}
	return s.over(b.Turn, true).ended(ev, b.Turn, Notice, b.Text, "")
}

// cancelled takes messages out; when it names the running turn, it ends that.
func (s State) cancelled(ev envelope.Event, b turnv1.Cancelled) (State, Change) {
	s = s.spent(b.Model, b.Usage)
	s = s.close(func(d Due) bool { return d.is(OpenControl, b.By) && d.Verb == string(messagev1.Stop) })
	switch b.Turn {
	case "":
		s = s.out(b.Answers)
	case s.Claim.Turn:
		s = s.end(b.Answers)
	}
	text := b.Text
	if len(b.Answers) > 0 {
		text = cmp.Or(text, stoppedText)
	}
	return s.over(b.Turn, true).ended(ev, b.Turn, Notice, text, "")
}

// end closes the running turn with the messages that it answers.
func (s State) end(answers []string) State {
	turn := s.Claim.Turn
	s.Claim = Claim{}
	return s.close(func(d Due) bool { return d.is(OpenTurn, turn) || d.Kind == OpenCompaction }).out(answers)
}

// out closes messages, and commands that had their place among them.
func (s State) out(ids []string) State {
	if len(ids) == 0 {
		return s
	}
	return s.close(func(d Due) bool {
		queued := d.Kind == OpenControl && (d.Verb == string(messagev1.New) || d.Verb == string(messagev1.Compact))
		return (d.Kind == OpenMessage || queued) && slices.Contains(ids, d.ID)
	})
}

// over closes the calls of a turn that has ended. One that was handed to its executor ends by itself, unless the turn did not
// come to an answer before it began.
func (s State) over(turn string, broken bool) State {
	if turn == "" {
		return s
	}
	return s.close(func(d Due) bool {
		return d.Kind == OpenCall && d.Turn == turn && (d.Phase == waiting || d.Phase == dispatched && broken)
	})
}

// ended shows what a turn ends with.
func (s State) ended(ev envelope.Event, turn, role, text, model string) (State, Change) {
	next, change := s.show(ev, text, Due{})
	next.Drafts = slices.DeleteFunc(slices.Clone(next.Drafts), func(d Draft) bool { return d.Turn == turn })
	if len(next.Drafts) == 0 {
		next.Drafts = nil
	}
	return next.as(role, turn, model, change)
}

func (s State) compaction(ev envelope.Event, b turnv1.Event) (State, Change) {
	switch b := b.(type) {
	case turnv1.CompactionStarted:
		if s.Claim.Open { // one claim at a time
			return s, Change{}
		}
		i := s.find(func(d Due) bool { return d.is(OpenCompaction, b.Compaction) })
		switch {
		case i < 0:
			s = s.open(ev, Due{Open: Open{Kind: OpenCompaction, ID: b.Compaction}, Attempt: b.Attempt})
		case b.Attempt > s.Due[i].Attempt:
			s = s.change(i, func(d *Due) { d.Attempt = b.Attempt })
		}
	case turnv1.SessionCompacted:
		return s.spent(b.Model, b.Usage).compacted(ev, b.Compaction, b.Attempt, b.By, b.Text)
	case turnv1.CompactionFailed:
		return s.spent(b.Model, b.Usage).compacted(ev, b.Compaction, b.Attempt, b.By, b.Text)
	default:
	}
	return s, Change{}
}

// compacted ends a compaction. What has happened by itself is shown to nobody.
func (s State) compacted(ev envelope.Event, id string, attempt int, by, text string) (State, Change) {
	meant := func(d Due) bool { return d.is(OpenCompaction, id) && d.Attempt == attempt }
	if s.find(meant) >= 0 {
		s = s.close(meant).answered(by)
	}
	if by == "" {
		return s, Change{}
	}
	return s.show(ev, text, Due{})
}
