package turn

import (
	"slices"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// compactAttempts is how often the model call of one compaction may be claimed.
const compactAttempts = 3

func (s State) compacting(ev envelope.Event, b turnv1.CompactionStarted) State {
	if c := s.Compaction; c != nil && (c.ID != b.Compaction || b.Attempt <= c.Claim.Attempt) {
		return s
	}
	if s.Turn != nil && s.Turn.Open {
		return s // one claim at a time
	}
	if !slices.ContainsFunc(s.Past, func(x Exchange) bool { return x.Turn == b.Through }) {
		return s
	}
	s.Compaction = &Compaction{ID: b.Compaction, Through: b.Through, By: b.By, Cause: ev.ID, Claim: Claim{
		Cursor: ev.Cursor, Attempt: b.Attempt, Worker: b.Worker, At: stamp(ev.Time), Deadline: stamp(b.Deadline),
	}}
	return s
}

// ends says whether an outcome is of the compaction that runs.
func (s State) ends(id string, attempt int) bool {
	return s.Compaction != nil && s.Compaction.ID == id && s.Compaction.Claim.Attempt == attempt
}

func (s State) compacted(b turnv1.SessionCompacted) State {
	if !s.ends(b.Compaction, b.Attempt) {
		return s
	}
	for i, x := range s.Past {
		if x.Turn == b.Through {
			s.Past = appended([]Exchange(nil), s.Past[i+1:]...) // what is replaced must not stay in memory
			break
		}
	}
	s.Bytes = 0
	for _, x := range s.Past {
		s.Bytes += x.Bytes
	}
	s.Summary = &Summary{Through: b.Through, Turns: b.Turns, Text: b.Summary}
	s.Retry = 0
	return s.afterCompaction(b.By, b.Model, b.Usage, true)
}

// uncompacted keeps the history. One that is due by itself is tried again when there is a quarter more.
func (s State) uncompacted(b turnv1.CompactionFailed) State {
	if !s.ends(b.Compaction, b.Attempt) {
		return s
	}
	s.Retry = s.Bytes + s.Bytes/4
	return s.afterCompaction(b.By, b.Model, b.Usage, false)
}

func (s State) afterCompaction(by, model string, u turnv1.Usage, answered bool) State {
	if model != "" {
		s.Usage = s.Usage.Plus(u, answered)
	}
	if s.Turn != nil {
		s.Turn = s.Turn.with(func(t *Turn) { t.Squeezed = true })
	}
	if s.Stop != nil && s.Stop.Compaction == s.Compaction.ID {
		stop := *s.Stop
		stop.Compaction, stop.Withdrew = "", true
		s.Stop = &stop
	}
	s.Compaction = nil
	if by != "" {
		s = s.answered(by)
	}
	return s
}

// smallestRoom is a window that every model has, in tokens.
const smallestRoom = 1000

// smallestDue keeps a small window from having every turn summarised, in bytes.
const smallestDue = 4 << 10

// bounds are those of r, or tighter ones when a model has refused requests for their length.
func (s State) bounds(r Rules) Compact {
	c := r.Compact
	if s.Room > 0 && c.Due > 0 {
		c.Due = min(c.Due, max(s.Room*bytesPerToken/2, smallestDue))
		c.Keep = min(c.Keep, c.Due/4)
	}
	return c
}

// due says whether finished turns are to be summarised without being asked for.
func (s State) due(r Rules) bool {
	c := s.bounds(r)
	return c.Due > 0 && s.Bytes > c.Due && s.Bytes >= s.Retry && len(s.Past) > 1
}

// starved says that messages have kept a compaction from happening for too long: the next one waits for it.
func (s State) starved(r Rules) bool { return s.due(r) && s.Bytes > s.bounds(r).Due*3/2 }

// givesWay says that the compaction is ended for what comes next in the inbox: a message, unless the compaction was asked
// for or messages have kept it waiting for too long, or the wish to begin afresh, which leaves nothing to summarise.
func (s State) givesWay(r Rules) bool {
	head := s.head()
	if head == nil || s.Turn != nil || s.Compaction.By != "" {
		return false
	}
	if head.message() {
		return !s.starved(r)
	}
	return head.Verb == messagev1.New && !head.Keep
}

// beginCompaction claims the summary of finished turns: of all of them, or of all but the newest.
func (s State) beginCompaction(v machine.View, r Rules, by string, all bool) machine.Step {
	last, kept, keep := len(s.Past)-1, 0, s.bounds(r).Keep
	for !all && last > 0 && kept+s.Past[last].Bytes <= keep {
		kept += s.Past[last].Bytes
		last--
	}
	through := s.Past[last].Turn
	cause := by
	switch {
	case s.Turn != nil:
		cause = s.Turn.Cause
	case cause == "":
		cause = s.Ended
	}
	return machine.Append{Claim: true, Cause: cause, Body: turnv1.CompactionStarted{
		Compaction: through + "/c", Attempt: 1, Worker: v.Worker, Deadline: v.Now.Add(r.Limits.CallTime + r.Limits.Grace),
		Through: through, By: by,
	}}
}

// compact is the step while a compaction is claimed.
func (s State) compact(v machine.View, r Rules) machine.Step {
	c := s.Compaction
	if s.givesWay(r) {
		step := s.idle(v, r)
		if a, ok := step.(machine.Append); ok {
			a.Tell = c.Claim.Worker
			return a
		}
		return step // a wait: the messages' turn must not be late because nobody looks while a summary is made
	}
	switch {
	case v.Mine == c.Claim.Cursor:
		return machine.Perform{Claim: c.Claim.Cursor, Deadline: c.Claim.Deadline}
	case v.Gone != c.Claim.Cursor:
		return machine.Held{Claim: c.Claim.Cursor, Worker: c.Claim.Worker, Since: c.Claim.At, Deadline: c.Claim.Deadline, Attempt: c.Claim.Attempt}
	case c.Claim.Attempt >= compactAttempts:
		return machine.Append{Cause: c.Cause, Tell: c.Claim.Worker, Body: turnv1.CompactionFailed{
			Compaction: c.ID, Attempt: c.Claim.Attempt, By: c.By, Cause: turnv1.Exhausted,
			Text: "The conversation could not be summarised: the work on it was interrupted again and again. Nothing was changed.",
		}}
	}
	return machine.Append{Claim: true, Cause: c.Cause, Body: turnv1.CompactionStarted{
		Compaction: c.ID, Attempt: c.Claim.Attempt + 1, Worker: v.Worker, Deadline: v.Now.Add(r.Limits.CallTime + r.Limits.Grace),
		Through: c.Through, By: c.By,
	}}
}
