package actor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// queue is the smallest machine that uses all of the shell: it answers messages one by one, each by an effect, and may
// rest between two of them. Questions (status) are answered without one, also while an effect runs.
type queue struct {
	Inbox []string
	Done  []string
	Claim turnv1.Claim
	At    uint64
	ID    string
	Since time.Time
	Ended time.Time
	Stop  string
	Asks  []string // questions that are answered at once, also beside an effect
}

// poison is a message that no fold survives.
const poison = "poison"

func apply(s queue, ev envelope.Event) queue {
	switch b := ev.Body.(type) {
	case messagev1.Received:
		if b.Text == poison {
			panic("poison")
		}
		s.Inbox = append(slices.Clip(s.Inbox), ev.ID)
	case turnv1.Started:
		s.Claim, s.At, s.ID, s.Since = b.Claim, ev.Cursor, ev.ID, ev.Time
	case turnv1.Resumed:
		s.Claim, s.At, s.ID, s.Since = b.Claim, ev.Cursor, ev.ID, ev.Time
	case turnv1.Completed:
		if s.open(b) {
			return s.end(ev, b.Answers)
		}
	case messagev1.Control:
		switch {
		case b.Verb == messagev1.Status:
			s.Asks = append(slices.Clip(s.Asks), ev.ID)
		case s.At != 0:
			s.Stop = ev.ID
		}
	case noticev1.Posted:
		if len(s.Asks) > 0 && slices.Equal(b.Answers, s.Asks[:1]) {
			s.Asks = s.Asks[1:]
		}
	case turnv1.Cancelled:
		if s.At != 0 && b.Turn == s.Claim.Turn {
			return s.end(ev, b.Answers)
		}
	}
	return s // session.deleted too: the shell gives a deleted session no past
}

func (s queue) end(ev envelope.Event, answers []string) queue {
	s.Inbox = s.Inbox[1:]
	s.Done = append(slices.Clip(s.Done), answers...)
	s.Claim, s.At, s.Ended, s.Stop = turnv1.Claim{}, 0, ev.Time, ""
	return s
}

// open says whether an outcome is of the open claim.
func (s queue) open(b turnv1.Completed) bool {
	return s.At != 0 && b.Turn == s.Claim.Turn && b.Attempt == s.Claim.Attempt
}

func next(s queue, v machine.View, rest time.Duration) machine.Step {
	claim := turnv1.Claim{Round: 1, Attempt: 1, Worker: v.Worker, Deadline: v.Now.Add(time.Minute)}
	switch {
	case s.Stop != "":
		return machine.Append{
			Body: turnv1.Cancelled{Turn: s.Claim.Turn, Answers: s.Claim.Messages, By: s.Stop}, Cause: s.Stop, Tell: s.Claim.Worker,
		}
	case len(s.Asks) > 0:
		return machine.Append{
			Body:  noticev1.Posted{Service: "turns", Text: string(v.Session), Answers: s.Asks[:1]},
			Cause: s.Asks[0], Beside: true,
		}
	case s.At != 0 && s.At == v.Mine:
		return machine.Perform{Claim: s.At, Deadline: s.Claim.Deadline}
	case s.At != 0 && s.At != v.Gone && !v.Now.After(s.Claim.Deadline):
		return machine.Held{Claim: s.At, Worker: s.Claim.Worker, Since: s.Since, Deadline: s.Claim.Deadline, Attempt: s.Claim.Attempt}
	case s.At != 0:
		claim.Turn, claim.Messages, claim.Attempt = s.Claim.Turn, s.Claim.Messages, s.Claim.Attempt+1
		return machine.Append{Body: turnv1.Resumed{Claim: claim, From: s.Claim.Worker}, Cause: s.ID, Claim: true}
	case len(s.Inbox) > 0 && v.Now.Before(s.Ended.Add(rest)):
		return machine.Wait{Until: s.Ended.Add(rest)}
	case len(s.Inbox) > 0:
		claim.Turn, claim.Messages = s.Inbox[0]+"/t", s.Inbox[:1]
		return machine.Append{Body: turnv1.Started{Claim: claim}, Cause: s.Inbox[0], Claim: true}
	}
	return nil
}

// fate is what becomes of one effect.
type fate int

const (
	fine fate = iota
	failing
	panicking
	empty
)

// work is how the queue's effects go: each takes its time; the first ones have fates, the others are fine.
type work struct {
	takes time.Duration
	rest  time.Duration
	fates []fate
}

func (w work) machine() actor.Machine[queue] {
	var n atomic.Int64
	return actor.Machine[queue]{
		Service: "turns", Version: "1", Apply: apply,
		Next: func(s queue, v machine.View) machine.Step { return next(s, v, w.rest) },
		Perform: func(ctx context.Context, k actor.Work[queue]) (envelope.Body, error) {
			select {
			case <-time.After(w.takes):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			if i := int(n.Add(1)) - 1; i < len(w.fates) {
				switch w.fates[i] {
				case failing:
					return nil, errors.New("this effect fails")
				case panicking:
					panic("this effect panics")
				case empty:
					return nil, nil
				case fine:
				}
			}
			c := k.State.Claim
			return turnv1.Completed{Outcome: turnv1.Outcome{Turn: c.Turn, Round: 1, Attempt: c.Attempt}, Answers: c.Messages}, nil
		},
	}
}

// stubborn is a queue whose effects do not heed their context.
func stubborn(takes time.Duration) actor.Machine[queue] {
	m := machineOf(takes)
	perform := m.Perform
	m.Perform = func(ctx context.Context, w actor.Work[queue]) (envelope.Body, error) {
		return perform(context.WithoutCancel(ctx), w)
	}
	return m
}

var spec = bus.Spec{
	Name: "turns", Appends: []string{"turn.started", "turn.resumed", "turn.completed", "turn.cancelled", "notice.posted.turns"},
	Doorbells: []string{"message.received", "control.requested"}, Snapshots: true, Timers: true,
}

func machineOf(takes time.Duration) actor.Machine[queue] { return work{takes: takes}.machine() }

// judge: every message is answered exactly once, in order, by whoever holds the claim, and every question once, in order.
func judge(id session.ID, events []envelope.Event, _ queue) error {
	var received, answered, asked, told []string
	var at queue
	for _, e := range events {
		switch b := e.Body.(type) {
		case messagev1.Received:
			received = append(received, e.ID)
		case turnv1.Completed:
			answered = append(answered, b.Answers...)
			if !at.open(b) {
				return fmt.Errorf("event %d is the outcome of a claim that is not open", e.Cursor)
			}
		case turnv1.Cancelled:
			answered = append(answered, b.Answers...)
		case messagev1.Control:
			if b.Verb == messagev1.Status {
				asked = append(asked, e.ID)
			}
		case noticev1.Posted:
			told = append(told, b.Answers...)
			if b.Text != string(id) {
				return fmt.Errorf("the machine was told of session %q", b.Text)
			}
		case turnv1.Started, turnv1.Resumed:
			if len(received) == 0 {
				return fmt.Errorf("event %d claims something that is deleted", e.Cursor)
			}
		}
		at = apply(at, e)
	}
	if got, want := strings.Join(answered, " "), strings.Join(received, " "); got != want {
		return fmt.Errorf("received %s, answered %s", want, got)
	}
	if got, want := strings.Join(told, " "), strings.Join(asked, " "); got != want {
		return fmt.Errorf("asked %s, told %s", want, got)
	}
	return nil
}

// noZombie: an effect does not begin when somebody else has had the claim for long.
func noZombie(w *actortest.World, k actor.Work[queue]) error {
	for _, e := range w.Events(k.Session) {
		if _, ok := e.Body.(turnv1.Resumed); ok && e.Cursor > k.Claim.Cursor {
			if lost := time.Since(e.Time); lost > bus.AckWait {
				return fmt.Errorf("an effect begins %s after its claim %d was lost", lost, k.Claim.Cursor)
			}
		}
	}
	return nil
}

func sessionID(t testing.TB, n int) session.ID {
	t.Helper()
	id, err := session.New("main", "http", "test", fmt.Sprint("s", n))
	if err != nil {
		t.Fatal(err)
	}
	return id
}
