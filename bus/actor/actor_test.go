package actor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// queue is the smallest machine that uses all of the shell: it answers messages one by one, each by an effect.
type queue struct {
	Inbox []string
	Done  []string
	Claim turnv1.Claim
	At    uint64
	ID    string
	Since time.Time
}

func apply(s queue, ev envelope.Event) queue {
	switch b := ev.Body.(type) {
	case messagev1.Received:
		s.Inbox = append(slices.Clip(s.Inbox), ev.ID)
	case turnv1.Started:
		s.Claim, s.At, s.ID, s.Since = b.Claim, ev.Cursor, ev.ID, ev.Time
	case turnv1.Resumed:
		s.Claim, s.At, s.ID, s.Since = b.Claim, ev.Cursor, ev.ID, ev.Time
	case turnv1.Completed:
		if s.At == 0 || b.Turn != s.Claim.Turn || b.Attempt != s.Claim.Attempt {
			return s
		}
		s.Inbox = s.Inbox[1:]
		s.Done = append(slices.Clip(s.Done), b.Answers...)
		s.Claim, s.At = turnv1.Claim{}, 0
	}
	return s
}

func next(s queue, v machine.View) machine.Step {
	claim := turnv1.Claim{Round: 1, Attempt: 1, Worker: v.Worker, Deadline: v.Now.Add(time.Minute)}
	switch {
	case s.At != 0 && s.At == v.Mine:
		return machine.Perform{Claim: s.At, Deadline: s.Claim.Deadline}
	case s.At != 0 && s.At != v.Gone && !v.Now.After(s.Claim.Deadline):
		return machine.Held{Claim: s.At, Worker: s.Claim.Worker, Since: s.Since, Deadline: s.Claim.Deadline, Attempt: s.Claim.Attempt}
	case s.At != 0:
		claim.Turn, claim.Messages, claim.Attempt = s.Claim.Turn, s.Claim.Messages, s.Claim.Attempt+1
		return machine.Append{Body: turnv1.Resumed{Claim: claim, From: s.Claim.Worker}, Cause: s.ID, Claim: true}
	case len(s.Inbox) > 0:
		claim.Turn, claim.Messages = s.Inbox[0]+"/t", s.Inbox[:1]
		return machine.Append{Body: turnv1.Started{Claim: claim}, Cause: s.Inbox[0], Claim: true}
	}
	return nil
}

func perform(work time.Duration) func(context.Context, actor.Work[queue]) (envelope.Body, error) {
	return func(ctx context.Context, w actor.Work[queue]) (envelope.Body, error) {
		select {
		case <-time.After(work):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		c := w.State.Claim
		return turnv1.Completed{Outcome: turnv1.Outcome{Turn: c.Turn, Round: 1, Attempt: c.Attempt}, Answers: c.Messages}, nil
	}
}

var spec = bus.Spec{
	Name: "turns", Appends: []string{"turn.started", "turn.resumed", "turn.completed"},
	Doorbells: []string{"message.received"}, Snapshots: true,
}

func machineOf(work time.Duration) actor.Machine[queue] {
	return actor.Machine[queue]{Service: "turns", Version: "1", Apply: apply, Next: next, Perform: perform(work)}
}

// judge: every message is answered exactly once, in order.
func judge(_ session.ID, events []envelope.Event, _ queue) error {
	var received, answered []string
	for _, e := range events {
		switch b := e.Body.(type) {
		case messagev1.Received:
			received = append(received, e.ID)
		case turnv1.Completed:
			answered = append(answered, b.Answers...)
		}
	}
	if got, want := strings.Join(answered, " "), strings.Join(received, " "); got != want {
		return fmt.Errorf("received %s, answered %s", want, got)
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

// TestShell drives the shell through random histories of faults, with several workers.
func TestShell(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sc := actortest.Scenario[queue]{
			Spec:    spec,
			Machine: machineOf(time.Duration(rapid.IntRange(0, 8000).Draw(rt, "work ms")) * time.Millisecond),
			Workers: rapid.IntRange(1, 3).Draw(rt, "workers"),
			Tape:    actortest.Tape(rt),
			Check:   judge,
		}
		gaps := rapid.SliceOfN(rapid.IntRange(0, 3000), 1, 8).Draw(rt, "gaps")
		sc.Script = func(w *actortest.World) {
			for i, g := range gaps {
				time.Sleep(time.Duration(g) * time.Millisecond)
				w.Post(sessionID(t, i%2), messagev1.Received{Text: "hi"}, fmt.Sprint("k", i))
			}
		}
		var verdict error
		synctest.Test(t, func(*testing.T) { verdict = actortest.Run(sc) })
		if verdict != nil {
			rt.Fatal(verdict)
		}
	})
}

// TestShellFindsABrokenMachine keeps the test honest: a machine that takes another's claim for a reason to ack loses
// messages, and that is found.
func TestShellFindsABrokenMachine(t *testing.T) {
	m := machineOf(20 * time.Millisecond)
	m.Next = func(s queue, v machine.View) machine.Step {
		step := next(s, v)
		if _, ok := step.(machine.Held); ok {
			return nil
		}
		return step
	}
	for seed := range uint64(200) {
		var found error
		synctest.Test(t, func(t *testing.T) {
			found = actortest.Run(actortest.Scenario[queue]{
				Spec: spec, Machine: m, Workers: 3, Tape: actortest.Expand(seed, 150, 500), Check: judge,
				Script: func(w *actortest.World) {
					for i := range 6 {
						w.Post(sessionID(t, 0), messagev1.Received{Text: "hi"}, fmt.Sprint("k", i))
						time.Sleep(30 * time.Millisecond)
					}
				},
			})
		})
		if found != nil {
			return
		}
	}
	t.Fatal("a machine that loses messages was judged right 200 times")
}
