package execution

import (
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Version names the form of State and the meaning of Apply; snapshots of another version are dropped.
const Version = "3"

// Machine is the machine of one service: of one executor or of several.
type Machine struct {
	// Owns says whether an executor is one of the service. All calls of others are as if they were not there.
	Owns func(executor string) bool
}

// State is the fold of one session. The zero value is a session that nobody has written to.
type State struct {
	Calls []Call `json:"calls,omitempty"` // dispatched and not completed, in the order of their dispatch; never written through
}

// Call is one call.
type Call struct {
	callv1.Dispatched
	Cause string `json:"cause"`          // id of the last event about it
	Over  bool   `json:"over,omitempty"` // its turn has ended while it ran

	Attempt  int       `json:"attempt,omitempty"` // of the open claim; 0 before the first
	Claim    uint64    `json:"claim,omitempty"`   // cursor of the event that claims it
	Worker   string    `json:"worker,omitempty"`  // its owner
	Since    time.Time `json:"since,omitzero"`    // time of the claim; before the first, of the dispatch
	Deadline time.Time `json:"deadline,omitzero"` // after it anybody may take over
	Ask      *Ask      `json:"ask,omitempty"`     // what the open claim has asked a person last; never written through
}

// Ask is a question to a person in the middle of a call.
type Ask struct {
	Question string `json:"question"`
	Approval string `json:"approval"`
	Over     bool   `json:"over,omitempty"` // it is settled
	// Decided is how, where a person has: nobody has checked that one has.
	Decided *approvalv1.Decided `json:"decided,omitempty"`
}

// Rules are what the machine has to know beside what was dispatched.
type Rules struct {
	// Timeout and Again stand in for what the first events did not tell: how long a call of a tool may take, and whether it may
	// be carried out twice. nil: all tell it.
	Timeout func(tool string) time.Duration
	Again   func(tool string) bool
	// Refuse says why a call that nobody has started is not to be: its server is paused, or is not configured any more. nil, or
	// "": it is started.
	Refuse func(c Call, now time.Time) string
	// Attempts is how often a call that may be repeated is claimed.
	Attempts int
	// Grace is how much later than its limit a call may be taken over, so that the runner's own report comes first.
	Grace time.Duration
}

// Part is the part of its session that an event is about: one for each call, "" for all others.
func Part(ev envelope.Event) string {
	switch b := ev.Body.(type) {
	case callv1.Dispatched:
		return part(b.Turn, b.Call)
	case callv1.Started:
		return part(b.Turn, b.Call)
	case callv1.Asked:
		return part(b.Turn, b.Call)
	case callv1.Completed:
		return part(b.Turn, b.Call)
	}
	return ""
}

func part(turn, call string) string { return turn + " " + call }

// Parts are those of all open calls.
func (s State) Parts() []string {
	parts := make([]string, len(s.Calls))
	for i, c := range s.Calls {
		parts[i] = part(c.Turn, c.Call)
	}
	return parts
}

// Open is the call of a part; false when there is none.
func (s State) Open(of string) (Call, bool) {
	i := slices.IndexFunc(s.Calls, func(c Call) bool { return part(c.Turn, c.Call) == of })
	if i < 0 {
		return Call{}, false
	}
	return s.Calls[i], true
}

// Apply folds one committed event.
func (m Machine) Apply(s State, ev envelope.Event) State {
	switch b := ev.Body.(type) {
	case callv1.Dispatched:
		if !m.Owns(b.Executor) || s.find(b.Turn, b.Call) >= 0 {
			return s
		}
		s.Calls = append(slices.Clip(s.Calls), Call{Dispatched: b, Cause: ev.ID, Since: stamp(ev.Time)})
	case callv1.Started:
		return s.started(ev, b)
	case callv1.Asked:
		i := s.find(b.Turn, b.Call)
		if i < 0 || b.Executor != s.Calls[i].Executor || b.Attempt != s.Calls[i].Attempt {
			return s
		}
		return s.asks(i, Ask{Question: b.Question, Approval: approvalv1.ID(ev.Session, ev.ID)})
	case approvalv1.Event:
		return s.settled(b)
	case callv1.Completed:
		i := s.find(b.Turn, b.Call)
		if i < 0 || b.Executor != s.Calls[i].Executor || b.Attempt != s.Calls[i].Attempt {
			return s
		}
		return s.keep(func(c Call) bool { return part(c.Turn, c.Call) != part(b.Turn, b.Call) })
	case turnv1.Cancelled:
		return s.over(b.Turn)
	case turnv1.Failed:
		return s.over(b.Turn)
	case turnv1.SessionDeleted:
		return State{}
	}
	return s
}

func (s State) find(turn, call string) int {
	return slices.IndexFunc(s.Calls, func(c Call) bool { return c.Turn == turn && c.Call == call })
}

func (s State) keep(wanted func(Call) bool) State {
	var rest []Call
	for _, c := range s.Calls {
		if wanted(c) {
			rest = append(rest, c)
		}
	}
	s.Calls = rest
	return s
}

func (s State) started(ev envelope.Event, b callv1.Started) State {
	i := s.find(b.Turn, b.Call)
	if i < 0 || b.Executor != s.Calls[i].Executor || b.Attempt != s.Calls[i].Attempt+1 {
		return s
	}
	s.Calls = slices.Clone(s.Calls)
	c := &s.Calls[i]
	c.Cause, c.Attempt, c.Claim, c.Worker = ev.ID, b.Attempt, ev.Cursor, b.Worker
	c.Since, c.Deadline, c.Ask = stamp(ev.Time), stamp(b.Deadline), nil
	return s
}

func (s State) asks(i int, a Ask) State {
	s.Calls = slices.Clone(s.Calls)
	s.Calls[i].Ask = &a
	return s
}

// settled ends what a call has asked. The first end counts.
func (s State) settled(b approvalv1.Event) State {
	var ref approvalv1.Ref
	var decided *approvalv1.Decided
	switch b := b.(type) {
	case approvalv1.Requested:
		return s
	case approvalv1.Decided:
		ref, decided = b.Ref, &b
	case approvalv1.Expired:
		ref = b.Ref
	case approvalv1.Cancelled:
		ref = b.Ref
	case approvalv1.Voided:
		ref = b.Ref
	}
	i := s.find(ref.Turn, ref.Call)
	if i < 0 || s.Calls[i].Ask == nil || s.Calls[i].Ask.Approval != ref.Approval || s.Calls[i].Ask.Over {
		return s
	}
	a := *s.Calls[i].Ask
	a.Over, a.Decided = true, decided
	return s.asks(i, a)
}

// over drops what has not begun, and marks what runs.
func (s State) over(turn string) State {
	if turn == "" || !slices.ContainsFunc(s.Calls, func(c Call) bool { return c.Turn == turn }) {
		return s
	}
	s = s.keep(func(c Call) bool { return c.Turn != turn || c.Attempt > 0 })
	for i := range s.Calls { // its own memory since keep
		s.Calls[i].Over = s.Calls[i].Over || s.Calls[i].Turn == turn
	}
	return s
}

// Next says what the part needs now; nil when its call is done. The part "" is rung by the end of a turn, and by timers.
func (s State) Next(v machine.View, r Rules) machine.Step {
	if v.Part == "" {
		return s.rest(v, r)
	}
	c, ok := s.Open(v.Part)
	if !ok {
		return nil
	}
	return c.next(v, r)
}

func (c Call) next(v machine.View, r Rules) machine.Step {
	switch {
	case c.Over:
		return c.cancel()
	case c.Attempt == 0:
		return c.begin(v, r)
	case v.Mine == c.Claim:
		return machine.Perform{Claim: c.Claim, Deadline: c.Deadline}
	case v.Gone != c.Claim: // also past the deadline, which is of the owner's clock
		return machine.Held{Claim: c.Claim, Worker: c.Worker, Since: c.Since, Deadline: c.Deadline, Attempt: c.Attempt}
	case r.again(c) && c.Attempt < r.Attempts:
		return c.start(v, r)
	}
	return c.end(callv1.Unknown, "the process that carried it out was lost in between")
}

// orphaned is how long a call is left to its own bell. That has been delivered by then, or delivered again.
const orphaned = 10 * time.Second

// rest ends what runs for turns that have ended, then takes on what has lost its own bell: one call at a time, those that
// nobody has started first, then those whose owners have gone, the oldest claim first.
func (s State) rest(v machine.View, r Rules) machine.Step {
	mine := slices.IndexFunc(s.Calls, func(c Call) bool { return v.Mine != 0 && c.Claim == v.Mine })
	for i, c := range s.Calls {
		if c.Over {
			step := c.cancel()
			step.Beside = mine >= 0 && mine != i
			return step
		}
	}
	if mine >= 0 {
		return s.Calls[mine].next(v, r)
	}
	var held machine.Held
	var wait machine.Wait
	for _, c := range s.Calls {
		if at := c.Since.Add(orphaned); c.Attempt == 0 && !machine.Due(v.Now, c.Since, at) {
			if wait.Until.IsZero() || at.Before(wait.Until) {
				wait.Until = at
			}
			continue
		}
		step := c.next(v, r)
		h, ok := step.(machine.Held)
		switch {
		case !ok:
			return step
		case held.Claim == 0 || h.Claim < held.Claim:
			held = h
		}
	}
	switch {
	case held.Claim != 0:
		return held
	case !wait.Until.IsZero():
		return wait
	}
	return nil
}

// begin starts a call for the first time, or says that it is not to be.
func (c Call) begin(v machine.View, r Rules) machine.Step {
	if r.Refuse != nil {
		if why := r.Refuse(c, v.Now); why != "" {
			return c.end(callv1.Refused, why)
		}
	}
	return c.start(v, r)
}

// limit is how long a call may take.
func (r Rules) limit(c Call) time.Duration {
	if c.Limit > 0 || r.Timeout == nil {
		return c.Limit
	}
	return r.Timeout(c.Tool)
}

// again says whether a call may be carried out twice.
func (r Rules) again(c Call) bool {
	if c.Limit > 0 || r.Again == nil {
		return c.Again
	}
	return r.Again(c.Tool)
}

func (c Call) start(v machine.View, r Rules) machine.Step {
	return machine.Append{Claim: true, Cause: c.Cause, Tell: c.Worker, Body: callv1.Started{
		Executor: c.Executor, Turn: c.Turn, Call: c.Call, Attempt: c.Attempt + 1, Worker: v.Worker,
		Deadline: stamp(v.Now.Add(r.limit(c) + r.Grace)),
	}}
}

func (c Call) cancel() machine.Append {
	return c.end(callv1.Cancelled, "it was ended with its turn; what it had done by then is done")
}

func (c Call) end(o callv1.Outcome, text string) machine.Append {
	return machine.Append{Cause: c.Cause, Tell: c.Worker, Body: callv1.Completed{
		Executor: c.Executor, Turn: c.Turn, Call: c.Call, Attempt: c.Attempt, Outcome: o, Content: text,
	}}
}

// stamp drops what a snapshot would not keep of a time.
func stamp(t time.Time) time.Time { return t.Round(0).UTC() }
