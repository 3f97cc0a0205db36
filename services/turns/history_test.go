package turns

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

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nobody watches.
type nobody struct{}

func (nobody) PublishLive(session.ID, any) error { return nil }

// TestHistories runs the service's own machine and effect, with the offline model, in the shell: several workers, lost
// acks, late acks, duplicates, reordering, conflicts, a crash at every step, workers that are cut off and go on.
func TestHistories(t *testing.T) {
	one, err := session.New("main", "http", "test", "one")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		slow := time.Duration(rapid.IntRange(0, 8000).Draw(rt, "model ms")) * time.Millisecond
		queue := turn.DefaultQueue()
		queue.Mode = rapid.SampledFrom(turn.Modes()).Draw(rt, "queue")
		m := slowMachine(t, slow, queue)
		facts := rapid.SliceOfN(rapid.SampledFrom([]string{
			"hi", "hi", "hi", "!tool wait {}", "!tool wait {}", "!tool nope {}", "stop", "new", "edit", "status", "queue steer", "compact", "new keep",
		}), 1, 10).Draw(rt, "facts")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 5000), len(facts), len(facts)).Draw(rt, "gaps")
		answer := time.Duration(rapid.IntRange(0, 20_000).Draw(rt, "tool ms")) * time.Millisecond
		sc := actortest.Scenario[turn.State]{
			Spec: Spec(), Machine: m, Workers: rapid.IntRange(1, 3).Draw(rt, "workers"), Tape: actortest.Tape(rt), Check: judge,
			Script: func(w *actortest.World) {
				for i, f := range facts {
					time.Sleep(time.Duration(gaps[i]) * time.Millisecond)
					w.Post(one, fact(f, i), fmt.Sprint("k", i))
				}
			},
			React: func(e envelope.Event) []actortest.Reaction {
				var out []actortest.Reaction
				if b, ok := e.Body.(turnv1.Stepped); ok {
					for _, c := range b.Calls {
						if c.Refusal == "" {
							out = append(out, actortest.Reaction{After: answer, Key: b.Turn + c.ID, Body: callv1.Completed{
								Executor: "builtin", Turn: b.Turn, Call: c.ID, Outcome: callv1.OK, Content: "done",
							}})
						}
					}
				}
				return out
			},
		}
		var verdict error
		synctest.Test(t, func(*testing.T) { verdict = actortest.Run(sc) })
		if verdict != nil {
			rt.Fatal(verdict)
		}
	})
}

// slowMachine is the service's machine; its offline model thinks for a while.
func slowMachine(t *testing.T, slow time.Duration, q turn.Queue) actor.Machine[turn.State] {
	t.Helper()
	m := callerOf(t, NewOffline(), Agent{Queue: q}, toolv1.Tool{Name: "wait"}).machine()
	perform := m.Perform
	m.Perform = func(ctx context.Context, w actor.Work[turn.State]) (envelope.Body, error) {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		return perform(ctx, w)
	}
	return m
}

func fact(what string, i int) envelope.Body {
	switch what {
	case "stop":
		return messagev1.Control{Verb: messagev1.Stop}
	case "new", "new keep", "status", "queue steer", "compact":
		verb, argument, _ := strings.Cut(what, " ")
		return messagev1.Control{Verb: messagev1.Verb(verb), Argument: argument}
	case "edit":
		return messagev1.Edited{Message: fmt.Sprint("fact-k", i-1), Text: "edited"}
	}
	return messagev1.Received{Text: what}
}

// judge: everything that was let in has exactly one outcome, answers come in the order of the messages, commands are
// answered once, and nothing is left.
func judge(_ session.ID, events []envelope.Event, s turn.State) error {
	var in []string
	outcomes := map[string]int{}
	last := -1
	for _, e := range events {
		switch b := e.Body.(type) {
		case messagev1.Received, messagev1.Control:
			in = append(in, e.ID)
		case turnv1.Cancelled:
			count(outcomes, b.Answers...)
			if b.Reason == turnv1.Stopped {
				count(outcomes, b.By)
			}
		case turnv1.SessionReset:
			count(outcomes, b.By)
		case turnv1.SessionConfigured:
			count(outcomes, b.By)
		case turnv1.SessionCompacted:
			count(outcomes, b.By)
		case turnv1.CompactionFailed:
			count(outcomes, b.By)
		case noticev1.Posted:
			count(outcomes, b.Answers...)
		case turnv1.Completed, turnv1.Failed:
			for _, id := range answersOf(b) {
				count(outcomes, id)
				at := slices.Index(in, id)
				if at <= last {
					return fmt.Errorf("%s is answered out of order", id)
				}
				last = at
			}
		}
	}
	for _, id := range in {
		if outcomes[id] != 1 {
			return fmt.Errorf("%s has %d outcomes", id, outcomes[id])
		}
	}
	if !s.Quiet() {
		return fmt.Errorf("left over: turn %v, compaction %v, stop %v, inbox %v, orders %v", s.Turn, s.Compaction, s.Stop, s.Inbox, s.Orders)
	}
	return nil
}

func count(outcomes map[string]int, ids ...string) {
	for _, id := range ids {
		outcomes[id]++
	}
}

func answersOf(b envelope.Body) []string {
	switch b := b.(type) {
	case turnv1.Completed:
		return b.Answers
	case turnv1.Failed:
		return b.Answers
	}
	return nil
}
