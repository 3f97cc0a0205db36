package recheck

import (
	"reflect"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
)

// maxBeside bounds how many events a machine may want beside an effect whose outcome is checked.
const maxBeside = 64

func (f *fold[S, R]) Check(ev envelope.Event) Verdict {
	if _, unknown := ev.Body.(envelope.Unknown); unknown {
		return Verdict{Result: Newer}
	}
	if f.Given != nil && f.Given(ev) {
		return Verdict{Result: Given}
	}
	a := attempt[S, R]{fold: f, ev: ev, rules: f.rulesOf(ev.Rules)}
	_, worker, _ := strings.Cut(ev.Source, "/")
	a.view = machine.View{Now: ev.Time, Session: f.session, Worker: worker}
	if f.Spec.Part != nil {
		a.view.Part = f.Spec.Part(ev)
	}
	return a.verdict()
}

// attempt is one check.
type attempt[S, R any] struct {
	*fold[S, R]
	ev    envelope.Event
	rules *known[R]
	view  machine.View

	tried  bool
	best   []Difference // of the nearest that the machine would do
	nearer bool         // best is of an event of the same type
}

// verdict tries all that the worker may have known about the open claim: that it was its own, that its owner was gone, or
// nothing. Whether it was so is the world's to say, and the event shows it.
func (a *attempt[S, R]) verdict() Verdict {
	var claim uint64
	if a.Claim != nil {
		claim = a.Claim(a.state, a.view.Part)
	}
	parts := []string{a.view.Part}
	if a.view.Part != "" {
		parts = append(parts, "") // a timer rings that one, and it may do the same
	}
	for _, part := range parts {
		a.view.Part = part
		if claim != 0 {
			a.view.Mine, a.view.Gone = claim, 0
			if r := a.mine(claim); r != "" {
				return Verdict{Result: r}
			}
			a.view.Mine, a.view.Gone = 0, claim
			if a.decides(a.step(a.state)) {
				return Verdict{Result: Same}
			}
		}
		a.view.Mine, a.view.Gone = 0, 0
		if a.decides(a.step(a.state)) {
			return Verdict{Result: Same}
		}
	}
	return Verdict{Result: Different, Differences: a.best}
}

func (a *attempt[S, R]) step(s S) machine.Step { return a.Next(s, a.view, &a.ev, a.rules.rules) }

// mine tries the event as one of the owner of the open claim: a decision, or the outcome of its effect. What the machine
// wants beside the effect is stored sooner or later than the outcome.
func (a *attempt[S, R]) mine(claim uint64) Result {
	state, cursor := a.state, a.ev.Prev
	for range maxBeside {
		step := a.step(state)
		if a.decides(step) {
			return Same
		}
		switch step := step.(type) {
		case machine.Perform:
			if step.Claim == claim && a.brings(state) {
				return Given
			}
			return ""
		case machine.Append:
			if !step.Beside {
				return ""
			}
			cursor++
			state = a.Spec.Apply(state, envelope.Event{
				ID: a.ev.ID + "/supposed", Session: a.session, Prev: a.ev.Prev, Cursor: cursor, Cause: step.Cause, Time: a.ev.Time, Body: step.Body,
			})
		default:
			return ""
		}
	}
	return ""
}

// decides says whether a step is to append the event.
func (a *attempt[S, R]) decides(step machine.Step) bool {
	want, ok := step.(machine.Append)
	if !ok {
		a.note([]Difference{{Field: "type", Then: quoted(a.ev.Type()), Now: Describe(step)}}, false)
		return false
	}
	body := want.Body
	if !a.rules.recorded && a.Timeless != nil && body.EventType() == a.ev.Type() {
		body = a.Timeless(body, a.ev.Body)
	}
	return a.equal(body, want.Cause)
}

// brings says whether the event is what the effect of the open claim may have brought.
func (a *attempt[S, R]) brings(s S) bool {
	if a.Outcome == nil {
		return false
	}
	body := a.Outcome(s, a.view.Part, a.ev)
	if body == nil {
		a.note([]Difference{{Field: "type", Then: quoted(a.ev.Type()), Now: `"another outcome of the effect"`}}, false)
		return false
	}
	return a.equal(body, a.ev.Cause)
}

func (a *attempt[S, R]) equal(body envelope.Body, cause string) bool {
	if body.EventType() != a.ev.Type() {
		a.note([]Difference{{Field: "type", Then: quoted(a.ev.Type()), Now: quoted(body.EventType())}}, false)
		return false
	}
	var all []Difference
	if cause != a.ev.Cause {
		all = append(all, Difference{Field: "cause", Then: quoted(a.ev.Cause), Now: quoted(cause)})
	}
	if !reflect.DeepEqual(body, a.ev.Body) {
		all = append(all, Compare("data", a.ev.Body, body)...)
	}
	if len(all) > 0 {
		a.note(all, true)
		return false
	}
	return true
}

// note keeps the nearest miss: of the same type before another, with fewer fields before more.
func (a *attempt[S, R]) note(d []Difference, same bool) {
	if !a.tried || same && !a.nearer || same == a.nearer && len(d) < len(a.best) {
		a.tried, a.best, a.nearer = true, d, same
	}
}
