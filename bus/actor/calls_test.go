package actor_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// calls is the smallest machine with parts: each message "call <name>" asks for an effect of its own, in the part of
// that name; "look <name>" rings the part and asks for nothing. A stop ends all that is open, by one event a call or by one
// for all, and is part "". A call is over when it has an outcome, is cancelled, or nobody knows what became of it.
type calls struct {
	Open  map[string]call // copied on write
	Stops []string        // in order; those that have ended all they are for are gone
	Over  []string
}

type call struct {
	By    string // the message
	Claim turnv1.Claim
	At    uint64 // of the open claim; 0: none yet
	ID    string
	Since time.Time // of the claim; before, of the message
	Stop  string    // the control that ends it
}

// named is the rest of a text behind a verb.
func named(verb, text string) (name string, ok bool) { return strings.CutPrefix(text, verb+" ") }

func callsPart(ev envelope.Event) string {
	if b, ok := ev.Body.(messagev1.Received); ok {
		if b.Text == poison+" part" {
			panic("a poisoned part")
		}
		for _, verb := range []string{"call", "look"} {
			if name, ok := named(verb, b.Text); ok {
				return name
			}
		}
	}
	return ""
}

func (s calls) apply(ev envelope.Event) calls {
	switch b := ev.Body.(type) {
	case messagev1.Received:
		name, ok := named("call", b.Text)
		if _, known := s.Open[name]; ok && !known && !slices.Contains(s.Over, name) {
			return s.put(name, call{By: ev.ID, Since: ev.Time})
		}
	case messagev1.Control:
		if len(s.Open) == 0 {
			return s
		}
		s.Stops = append(slices.Clip(s.Stops), ev.ID)
		s.Open = maps.Clone(s.Open)
		for name, c := range s.Open {
			c.Stop = ev.ID
			s.Open[name] = c
		}
	case turnv1.Started:
		return s.claimed(ev, b.Claim)
	case turnv1.Resumed:
		return s.claimed(ev, b.Claim)
	case turnv1.Completed:
		return s.over(b.Turn, b.Attempt)
	case turnv1.Failed:
		return s.over(b.Turn, b.Attempt)
	case turnv1.Cancelled:
		if b.Turn != "" {
			return s.over(b.Turn, 0)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Open)) {
			if s.Open[name].Stop == b.By {
				s = s.over(name, 0)
			}
		}
	}
	return s
}

func (s calls) put(name string, c call) calls {
	s.Open = maps.Clone(s.Open)
	if s.Open == nil {
		s.Open = make(map[string]call)
	}
	s.Open[name] = c
	return s
}

func (s calls) claimed(ev envelope.Event, claim turnv1.Claim) calls {
	c, ok := s.Open[claim.Turn]
	if !ok {
		return s
	}
	c.Claim, c.At, c.ID, c.Since = claim, ev.Cursor, ev.ID, ev.Time
	return s.put(claim.Turn, c)
}

// over closes a call; an attempt of 0 is whichever is open.
func (s calls) over(name string, attempt int) calls {
	c, ok := s.Open[name]
	if !ok || attempt != 0 && (c.At == 0 || c.Claim.Attempt != attempt) {
		return s
	}
	s.Open = maps.Clone(s.Open)
	delete(s.Open, name)
	s.Over = append(slices.Clip(s.Over), name)
	if !slices.ContainsFunc(slices.Collect(maps.Values(s.Open)), func(c call) bool { return c.Stop != "" }) {
		s.Stops = nil
	}
	return s
}

// tool is how the calls' effects go.
type tool struct {
	takes time.Duration
	rest  time.Duration // from the message to the claim
	until *atomic.Int64 // unix nanoseconds, instead of takes: all end in the same instant
	retry bool          // what nobody knows of is done again, else the call has failed
	alone bool          // one call at a time
	sweep bool          // one event ends all that a stop is for
	deaf  bool          // effects do not heed their context
	fates map[string]fate
	// Beginnings and ends, as they happen; may be nil.
	begin func(name string)
	end   func(name string, err error)
}

func (k tool) next(s calls, v machine.View) machine.Step {
	if v.Part == "" {
		return k.cancel(s, v.Worker)
	}
	c, open := s.Open[v.Part]
	if !open || c.Stop != "" { // then part "" ends it
		return nil
	}
	claim := turnv1.Claim{
		Turn: v.Part, Messages: []string{c.By}, Round: 1, Attempt: c.Claim.Attempt + 1, Worker: v.Worker, Deadline: v.Now.Add(time.Minute),
	}
	held := machine.Held{Claim: c.At, Worker: c.Claim.Worker, Since: c.Since, Deadline: c.Claim.Deadline, Attempt: c.Claim.Attempt}
	switch {
	case c.At != 0 && c.At == v.Mine:
		return machine.Perform{Claim: c.At, Deadline: c.Claim.Deadline}
	case c.At != 0 && c.At != v.Gone && !v.Now.After(c.Claim.Deadline):
		return held
	case c.At != 0 && k.retry:
		return machine.Append{Body: turnv1.Resumed{Claim: claim, From: c.Claim.Worker}, Cause: c.ID, Claim: true}
	case c.At != 0:
		return machine.Append{
			Body:  turnv1.Failed{Outcome: turnv1.Outcome{Turn: v.Part, Attempt: c.Claim.Attempt}, Text: "unknown"},
			Cause: c.ID, Tell: c.Claim.Worker,
		}
	}
	if begins := c.Since.Add(k.rest); v.Now.Before(begins) {
		return machine.Wait{Until: begins}
	}
	if o := s.newest(); k.alone && o.At != 0 && o.At != v.Gone {
		return machine.Held{Claim: o.At, Worker: o.Claim.Worker, Since: o.Since, Deadline: o.Claim.Deadline, Attempt: o.Claim.Attempt}
	}
	return machine.Append{Body: turnv1.Started{Claim: claim}, Cause: c.By, Claim: true}
}

// newest is the open call that was claimed last.
func (s calls) newest() (c call) {
	for _, o := range s.Open {
		if o.At > c.At {
			c = o
		}
	}
	return c
}

// cancel is the step of part "": the first call, by name, that a stop is for is ended.
func (k tool) cancel(s calls, worker string) machine.Step {
	for _, name := range slices.Sorted(maps.Keys(s.Open)) {
		if c := s.Open[name]; c.Stop != "" {
			body, tell := turnv1.Cancelled{Turn: name, Answers: []string{c.By}, By: c.Stop}, c.Claim.Worker
			if k.sweep {
				body.Turn = ""
				for _, o := range s.Open { // the asker's own lanes look by themselves
					if w := o.Claim.Worker; w != "" && w != worker && (tell == worker || tell == "" || w < tell) {
						tell = w
					}
				}
			}
			return machine.Append{Body: body, Cause: c.Stop, Tell: tell}
		}
	}
	return nil
}

func (k tool) machine() actor.Machine[calls] {
	return actor.Machine[calls]{
		Service: "turns", Version: "calls 1", Apply: calls.apply, Next: k.next, Part: callsPart,
		Perform: func(ctx context.Context, w actor.Work[calls]) (b envelope.Body, err error) {
			c := claimOf(w.Claim)
			if k.begin != nil {
				k.begin(c.Turn)
			}
			if k.end != nil {
				defer func() { k.end(c.Turn, err) }()
			}
			takes, done := k.takes, ctx.Done()
			if k.until != nil {
				takes = time.Until(time.Unix(0, k.until.Load()))
			}
			if k.deaf {
				done = nil
			}
			select {
			case <-time.After(takes):
			case <-done:
				return nil, context.Cause(ctx)
			}
			if c.Attempt == 1 {
				switch k.fates[c.Turn] {
				case failing:
					return nil, errors.New("this effect fails")
				case panicking:
					panic("this effect panics")
				case empty:
					return nil, nil
				case fine:
				}
			}
			return turnv1.Completed{Outcome: turnv1.Outcome{Turn: c.Turn, Round: 1, Attempt: c.Attempt}, Answers: c.Messages}, nil
		},
	}
}

func claimOf(ev envelope.Event) turnv1.Claim {
	switch b := ev.Body.(type) {
	case turnv1.Started:
		return b.Claim
	case turnv1.Resumed:
		return b.Claim
	}
	return turnv1.Claim{}
}

var callsSpec = bus.Spec{
	Name: "turns", Appends: []string{"turn.started", "turn.resumed", "turn.completed", "turn.failed", "turn.cancelled"},
	Doorbells: []string{"message.received", "control.requested"}, Snapshots: true, Timers: true,
}

// judgeCalls: every call is closed, exactly once, by an event that its fold takes; nothing is claimed that is over.
func judgeCalls(_ session.ID, events []envelope.Event, state calls) error {
	if len(state.Open) > 0 || len(state.Stops) > 0 {
		return fmt.Errorf("not closed: %v, %v", state.Open, state.Stops)
	}
	var at calls
	for _, e := range events {
		was := at
		at = at.apply(e)
		switch b := e.Body.(type) {
		case turnv1.Started, turnv1.Resumed:
			c := claimOf(e)
			if o, ok := was.Open[c.Turn]; !ok || o.Stop != "" || o.Claim.Attempt != c.Attempt-1 {
				return fmt.Errorf("event %d claims what is not to be claimed: %+v", e.Cursor, o)
			}
		case turnv1.Completed, turnv1.Failed, turnv1.Cancelled:
			if len(at.Over) == len(was.Over) {
				return fmt.Errorf("event %d (%T) closes nothing", e.Cursor, b)
			}
		}
	}
	return nil
}

// callClaims wants exactly so many claims in a session, all of them with an outcome.
func callClaims(n int) func(session.ID, []envelope.Event, calls) error {
	return func(s session.ID, events []envelope.Event, state calls) error {
		claims, outcomes := 0, 0
		for _, e := range events {
			switch e.Body.(type) {
			case turnv1.Started, turnv1.Resumed:
				claims++
			case turnv1.Completed:
				outcomes++
			}
		}
		if claims != n || outcomes != n {
			return fmt.Errorf("%d claims and %d outcomes, want %d", claims, outcomes, n)
		}
		return judgeCalls(s, events, state)
	}
}

// once finds an effect that begins a second time for a call, or long after its claim was closed.
type once struct {
	retry bool
	mu    sync.Mutex
	begun map[string]bool // guarded by mu
}

func (o *once) begin(w *actortest.World, k actor.Work[calls]) error {
	name := claimOf(k.Claim).Turn
	o.mu.Lock()
	defer o.mu.Unlock()
	if id := string(k.Session) + " " + name; !o.retry && o.begun[id] {
		return fmt.Errorf("the effect of call %s was begun twice", name)
	} else if o.begun == nil {
		o.begun = map[string]bool{id: true}
	} else {
		o.begun[id] = true
	}
	for _, e := range w.Events(k.Session) {
		closed := ""
		switch b := e.Body.(type) {
		case turnv1.Resumed:
			closed = b.Turn
		case turnv1.Failed:
			closed = b.Turn
		case turnv1.Cancelled:
			closed = b.Turn
		}
		if late := time.Since(e.Time); closed == name && e.Cursor > k.Claim.Cursor && late > bus.AckWait {
			return fmt.Errorf("the effect of call %s begins %s after its claim %d was lost", name, late, k.Claim.Cursor)
		}
	}
	return nil
}

// playCalls runs a scenario in a bubble, and finds an effect that begins twice.
func playCalls(t *testing.T, k tool, sc actortest.Scenario[calls]) (err error) {
	t.Helper()
	o := &once{retry: k.retry}
	sc.Spec, sc.Begin = callsSpec, o.begin
	if sc.Machine.Apply == nil {
		sc.Machine = k.machine()
	}
	if sc.Check == nil {
		sc.Check = judgeCalls
	}
	synctest.Test(t, func(*testing.T) { err = actortest.Run(sc) })
	return err
}

func post(t *testing.T, w *actortest.World, texts ...string) {
	t.Helper()
	for _, text := range texts {
		w.Post(sessionID(t, 0), messagev1.Received{Text: text}, text)
	}
}

// callN posts n calls, c0, c1, and so on.
func callN(t *testing.T, w *actortest.World, n int) {
	t.Helper()
	for i := range n {
		post(t, w, fmt.Sprint("call c", i))
	}
}

// calm is a tape that moves bells between workers and lets goroutines overtake each other, without any fault.
func calm(seed uint64, n int) []byte {
	tape := actortest.Expand(seed, 0, n)
	for i := range tape {
		tape[i] %= 128
	}
	return tape
}
