package timeline

import (
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

func (b *builder) compactionEvent(ev envelope.Event, body turnv1.Event) *Entry {
	switch c := body.(type) {
	case turnv1.CompactionStarted:
		e := b.compaction(c.Compaction, c.By, c.Attempt == 1, ev)
		f := e.Facts.(*Compaction)
		f.Attempts++
		f.Worker, f.Deadline, f.claimed = c.Worker, c.Deadline, ev.Time
		return b.leaf(e, ev, fmt.Sprintf("asks the model for a summary through turn %s, worker %s", c.Through, c.Worker))
	case turnv1.CompactionFailed:
		e := b.compaction(c.Compaction, c.By, false, ev)
		e.Facts.(*Compaction).end(e, ev, "failed", c.Model)
		e.Facts.(*Compaction).Cause, e.Facts.(*Compaction).Detail = string(c.Cause), short(c.Detail)
		return b.leaf(e, ev, cause(string(c.Cause), c.Text))
	case turnv1.SessionCompacted:
		e := b.compaction(c.Compaction, c.By, false, ev)
		e.Facts.(*Compaction).end(e, ev, "compacted", c.Model)
		e.Facts.(*Compaction).Turns = c.Turns
		return b.leaf(e, ev, fmt.Sprintf("%s in one: %s", counted(c.Turns, "turn"), c.Summary))
	default:
		return b.leaf(nil, ev, "")
	}
}

// compaction is the group of one: under the command that asked for it, or in the turn that it is made for. The same turns may
// be tried again later: that is another one.
func (b *builder) compaction(id, by string, first bool, ev envelope.Event) *Entry {
	if e, ok := b.compactions[id]; ok && (e.Open || !first) {
		return e
	}
	parent := b.answered([]string{by})
	if parent == nil {
		parent = b.running
	}
	e := b.group(parent, CompactionKind, id, ev, &Compaction{})
	b.compactions[id] = e
	return e
}

func (c *Compaction) end(e *Entry, ev envelope.Event, how, model string) {
	e.paid = append(e.paid, ev)
	if e.Open {
		c.Outcome, c.Model, c.claimed = how, model, time.Time{}
		e.close(ev.Time)
	}
}

// gaveWay ends compactions that a turn or a new beginning came before: there is one claim at a time.
func (b *builder) gaveWay(at time.Time) {
	for _, e := range b.compactions {
		if f := e.Facts.(*Compaction); e.Open {
			f.Outcome = "superseded"
			e.close(at)
		}
	}
}
