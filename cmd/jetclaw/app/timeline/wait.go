package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
)

// Wanted is what a session may wait for.
type Wanted string

// What it may wait for, most important first.
const (
	ForPerson     Wanted = "person"     // to decide
	ForModel      Wanted = "model"      // to answer
	ForCompaction Wanted = "compaction" // a model's summary
	ForTool       Wanted = "tool"       // that runs
	ForExecutor   Wanted = "executor"   // to start a call
	ForDelivery   Wanted = "delivery"   // an attempt, or the time of the next one
	ForStep       Wanted = "step"       // something is to be done, and nobody has done it
	ForTime       Wanted = "time"       // a machine waits for the clock
	ForTurn       Wanted = "turn"       // messages that come after the turn that runs
	ForNothing    Wanted = "nothing"
)

var importance = []Wanted{
	ForPerson, ForModel, ForCompaction, ForTool, ForExecutor, ForDelivery, ForStep, ForTime, ForTurn, ForNothing,
}

// Limit is what the end of a wait means.
type Limit string

// The limits.
const (
	Expires  Limit = "expires"  // nobody can answer any more
	Deadline Limit = "deadline" // somebody else takes over, or says what became of it
	Due      Limit = "due"      // it goes on
)

// Wait is one thing that a session waits for.
type Wait struct {
	For     Wanted    `json:"for"`
	What    string    `json:"what"`            // in words; untrusted
	Notes   []string  `json:"notes,omitempty"` // untrusted
	Since   time.Time `json:"since,omitzero"`
	Cursor  uint64    `json:"cursor,omitempty"` // of the event since which it waits
	Until   time.Time `json:"until,omitzero"`
	UntilIs Limit     `json:"until_is,omitempty"`

	service string  // whose step ends it
	call    callKey // of which call; only of tool calls
}

// justNow is how long a step may be due before one has to wonder who does it.
const justNow = 5 * time.Second

// waiting says what is open, by the folds of the machines, and what they want.
func (b *builder) waiting(events []envelope.Event, due []recheck.Due) []Wait {
	f := foldOf(events)
	list := slices.Concat(b.people(f), b.ofTurns(f), b.ofTools(f), b.ofOutbox(f))
	for _, d := range due {
		switch step := d.Step.(type) {
		case machine.Append:
			list = append(supersede(list, d, step), b.step(d, step))
		case machine.Wait:
			list = b.clock(list, d, step)
		case machine.Held, machine.Perform: // the open claim says it
		}
	}
	if len(list) == 0 {
		w := Wait{For: ForNothing, What: "nothing: it is quiescent", Cursor: b.t.Last}
		if len(events) > 0 {
			w.Since = events[len(events)-1].Time
		}
		list = []Wait{w}
	}
	slices.SortStableFunc(list, func(x, y Wait) int {
		return cmp.Compare(slices.Index(importance, x.For), slices.Index(importance, y.For))
	})
	return list
}

// supersede drops what a step that is due says better.
func supersede(list []Wait, d recheck.Due, step machine.Append) []Wait {
	var about callKey
	switch body := step.Body.(type) {
	case callv1.Started:
		about = callKey{body.Turn, body.Call}
	case callv1.Completed:
		about = callKey{body.Turn, body.Call}
	}
	return slices.DeleteFunc(list, func(w Wait) bool {
		if w.For == ForTool || w.For == ForExecutor {
			return w.call == about
		}
		return w.service == d.Service && w.For != ForPerson && w.For != ForTurn
	})
}

// step is a wait for somebody who does what a machine wants.
func (b *builder) step(d recheck.Due, step machine.Append) Wait {
	w := Wait{For: ForStep, What: "a step that is due", Notes: []string{d.Service}, service: d.Service}
	if step.Body != nil {
		w.Notes[0] += ": " + envelope.KindOf(step.Body.EventType())
	}
	if e := b.at[step.Cause]; e != nil {
		w.Since, w.Cursor = e.Time, e.Cursor
	} else {
		w.Cursor = b.t.Last
	}
	return b.overdue(w)
}

// overdue wonders who does it.
func (b *builder) overdue(w Wait) Wait {
	if !w.Since.IsZero() && b.now.Sub(w.Since) >= justNow {
		w.Notes = append(w.Notes, "nobody has taken it: is the daemon running?")
	}
	return w
}

// nextStep is what the clock brings.
const nextStep = "the next step"

// clock adds the time that a machine waits for: to what it is about, or for itself.
func (b *builder) clock(list []Wait, d recheck.Due, step machine.Wait) []Wait {
	for i, w := range list {
		if w.service != d.Service {
			continue
		}
		switch {
		case w.For == ForStep:
			list[i].For, list[i].What, list[i].Notes = ForTime, nextStep, []string{d.Service}
			fallthrough
		case w.Until.IsZero():
			list[i].Until, list[i].UntilIs = step.Until, Due
		}
		return list // what it waits for says so itself
	}
	return append(list, Wait{
		For: ForTime, What: nextStep, Notes: []string{d.Service}, Until: step.Until, UntilIs: Due, service: d.Service,
	})
}
