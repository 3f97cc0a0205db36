package health

import (
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Patience is how long a step may be due while a worker of its service is there, before a doorbell that may be settled is no
// longer believed in. It is well above the longest that a doorbell is put off (a minute), so that a session whose worker
// tries again and again is none that nobody will wake.
const Patience = 90 * time.Second

// Service is what is known of a service that has a machine.
type Service struct {
	Spec   bus.Spec
	Part   func(envelope.Event) string // the part of its session that an event rings; nil: it has none
	Events bus.ConsumerState           // of its doorbells
	Timers bus.ConsumerState           // of its timers
	// Executors are the consumers of the executors that it runs, by their names.
	Executors map[string]bus.ConsumerState
}

// bell is the consumer that an event rings it by; false when it does not.
func (s Service) bell(ev envelope.Event) (bus.ConsumerState, bool) {
	if d, ok := ev.Body.(callv1.Dispatched); ok && s.Spec.Executors && d.Executor != s.Spec.Name &&
		subject.ExecutorService(d.Executor) == s.Spec.Name {
		c, there := s.Executors[d.Executor]
		if !there {
			c = bus.ConsumerState{Name: d.Executor, Missing: true}
		}
		return c, true
	}
	return s.Events, s.Spec.RungBy(ev)
}

// There says whether a worker of the service waits for doorbells.
func (s Service) There() bool { return s.Events.Waiting > 0 || s.Timers.Waiting > 0 }

// Session is what is known of a session.
type Session struct {
	ID     session.ID
	Events []envelope.Event // since its last tombstone, oldest first
	Timers []bus.TimerState // read after the events
}

// Judge knows the machines, how far their doorbells are, and the time.
type Judge struct {
	Machines []recheck.Machine
	Services map[string]Service // by name; all that have a machine
	Now      time.Time
}

// Stuck is a step that is due, or will be, and that nobody will be woken for.
type Stuck struct {
	Session  session.ID `json:"session"`
	Service  string     `json:"service"`
	Part     string     `json:"part,omitempty"`
	Step     string     `json:"step"`
	Due      time.Time  `json:"due"`  // since when, or from when on
	Last     uint64     `json:"last"` // cursor of the session's last event
	Missing  string     `json:"missing"`
	Doorbell *Doorbell  `json:"doorbell,omitempty"` // nil: no event of the session rings the service
}

// Doorbell is the event that should have woken the service.
type Doorbell struct {
	Cursor    uint64 `json:"cursor"`
	Kind      string `json:"kind"`
	AckFloor  uint64 `json:"ack_floor"` // of the service's consumer
	Delivered uint64 `json:"delivered"`
}

// PanicError says that a machine cannot fold a session.
type PanicError struct {
	Service string
	Value   any
	Stack   string
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("the machine of %s panics: %v", e.Service, e.Value)
}

// Newer is the first event of a session that today's code cannot read; no machine is asked about such a session. A message that
// is no event, and so has no ID, is none: every fold passes it by.
func Newer(events []envelope.Event) (envelope.Event, bool) {
	for _, ev := range events {
		if _, unknown := ev.Body.(envelope.Unknown); unknown && ev.ID != "" {
			return ev, true
		}
	}
	return envelope.Event{}, false
}

// Due is what the machines want of a session. A machine that panics is an error; what the others want comes with it.
func (j Judge) Due(id session.ID, events []envelope.Event) (due []recheck.Due, err error) {
	for _, m := range j.Machines {
		got, perr := dueOf(m, id, events, j.Now)
		due = append(due, got...)
		if err == nil && perr != nil {
			err = perr
		}
	}
	return due, err
}

func dueOf(m recheck.Machine, id session.ID, events []envelope.Event, now time.Time) (due []recheck.Due, err error) {
	defer func() {
		if v := recover(); v != nil {
			due, err = nil, &PanicError{Service: m.Service(), Value: v, Stack: string(debug.Stack())}
		}
	}()
	f := m.On(id)
	for _, ev := range events {
		f.Apply(ev)
	}
	return f.Due(now), nil
}

// Stuck finds, at most one for each service, the steps that nobody will be woken for.
func (j Judge) Stuck(s Session, due []recheck.Due) []Stuck {
	var all []Stuck
	for _, m := range j.Machines {
		sv, ok := j.Services[m.Service()]
		if !ok {
			continue
		}
		var worst *Stuck
		for _, d := range due {
			if d.Service != m.Service() || d.Part == "" && sv.Part != nil && others(due, d) {
				continue
			}
			if found := j.step(m, sv, s, d); found != nil && (worst == nil || found.Due.Before(worst.Due)) {
				worst = found
			}
		}
		if worst != nil {
			all = append(all, *worst)
		}
	}
	return all
}

// others says whether other parts of the service want something. A ring of part "" is for all of them, so that what it
// wants is theirs, and each is judged by its own doorbell.
func others(due []recheck.Due, d recheck.Due) bool {
	for _, o := range due {
		if o.Service == d.Service && o.Part != "" {
			return true
		}
	}
	return false
}

// step judges one step; nil: somebody will be woken.
func (j Judge) step(m recheck.Machine, sv Service, s Session, d recheck.Due) *Stuck {
	found := Stuck{Session: s.ID, Service: d.Service, Part: d.Part}
	if n := len(s.Events); n > 0 {
		found.Last = s.Events[n-1].Cursor
	}
	switch step := d.Step.(type) {
	case machine.Wait:
		found.Due, found.Step = step.Until, "to go on at "+step.Until.UTC().Format(time.RFC3339)
	case machine.Held:
		if sv.There() && !j.Now.After(step.Deadline) {
			return nil // its owner is most likely at work, and what it appends rings
		}
		found.Due = step.Deadline
		found.Step = fmt.Sprintf("to take over what %s claimed at %d", step.Worker, step.Claim)
	case machine.Perform:
		found.Due, found.Step = step.Deadline, fmt.Sprintf("to carry out what was claimed at %d", step.Claim)
	case machine.Append:
		found.Due, found.Step = since(m, s, d, j.Now), "to append "+step.Body.EventType()
	}
	missing, bell := j.missing(sv, s, d.Part, found.Due)
	if missing == "" {
		return nil
	}
	found.Missing, found.Doorbell = missing, bell
	return &found
}

// missing says why nobody will be woken; "" when somebody will.
func (j Judge) missing(sv Service, s Session, part string, due time.Time) (string, *Doorbell) {
	for _, t := range s.Timers {
		if t.Service == sv.Spec.Name && !sv.Timers.Missing && j.inTime(t, due) {
			return "", nil
		}
	}
	ev, e, ok := newest(sv, s.Events, part)
	if !ok {
		return "no timer, and no event of the session rings " + sv.Spec.Name, nil
	}
	bell := &Doorbell{Cursor: ev.Cursor, Kind: ev.Kind(), AckFloor: e.Floor, Delivered: e.Delivered}
	what := fmt.Sprintf("no timer, and the doorbell %s (cursor %d)", ev.Kind(), ev.Cursor)
	switch {
	case e.Missing:
		return what + " has no consumer", bell
	case ev.Cursor > e.Delivered:
		return "", nil
	case ev.Cursor <= e.Floor:
		return fmt.Sprintf("%s is settled: %s has settled everything up to %d", what, e.Name, e.Floor), bell
	case e.AckPending == 0:
		return fmt.Sprintf("%s is settled: %s has delivered everything up to %d, and nothing is open", what, e.Name, e.Delivered), bell
	case !sv.There(), j.Now.Sub(due) < Patience:
		return "", nil
	}
	return fmt.Sprintf("%s must be settled: a worker is there and has not taken the step for %s", what,
		j.Now.Sub(due).Round(time.Second)), bell
}

// inTime says whether a timer rings for a step. One that should have rung long ago never will.
func (j Judge) inTime(t bus.TimerState, due time.Time) bool {
	if t.At.IsZero() { // it has rung
		return true
	}
	latest := due
	if j.Now.After(due) {
		latest = j.Now
	}
	return !t.At.After(latest.Add(Patience)) && j.Now.Sub(t.At) < Patience
}

// newest is the newest event that rings the service for a part of the session, and by which consumer. Part "" is for all of them.
func newest(sv Service, events []envelope.Event, part string) (envelope.Event, bus.ConsumerState, bool) {
	for _, ev := range slices.Backward(events) {
		by, rings := sv.bell(ev)
		if !rings {
			continue
		}
		if sv.Part == nil || part == "" {
			return ev, by, true
		}
		if of := sv.Part(ev); of == part || of == "" {
			return ev, by, true
		}
	}
	return envelope.Event{}, bus.ConsumerState{}, false
}

// since is when a step became due: with the event after which it has been wanted ever since, or when the time came that the
// machine had waited for.
func since(m recheck.Machine, s Session, d recheck.Due, now time.Time) time.Time {
	if len(s.Events) == 0 {
		return now
	}
	last := s.Events[len(s.Events)-1].Time
	for n := len(s.Events); n > 0; n-- {
		at := s.Events[n-1].Time
		step, ok := wanted(m, s.ID, s.Events[:n], d.Part, at)
		if !ok {
			return last
		}
		switch step := step.(type) {
		case machine.Wait:
			return later(step.Until, last, now)
		case machine.Held:
			return later(step.Deadline, last, now)
		case machine.Append, machine.Perform:
		}
		last = at
		if len(s.Events)-n > sinceLooks {
			break
		}
	}
	return last
}

// sinceLooks bounds how far back it is looked, as each look folds the session.
const sinceLooks = 64

// later is a time that was waited for, if it lies between what happened last and now.
func later(t, last, now time.Time) time.Time {
	if t.Before(last) || t.After(now) {
		return last
	}
	return t
}

// wanted is the step of a part as the session was after some of its events.
func wanted(m recheck.Machine, id session.ID, events []envelope.Event, part string, at time.Time) (machine.Step, bool) {
	due, err := dueOf(m, id, events, at)
	if err != nil {
		return nil, false
	}
	for _, d := range due {
		if d.Part == part {
			return d.Step, true
		}
	}
	return nil, false
}
