package turns

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
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
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
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
		m := slowMachine(t, slow)
		facts := rapid.SliceOfN(rapid.SampledFrom([]string{"hi", "hi", "!tool wait {}", "!tool nope {}", "stop", "new", "edit"}), 1, 8).Draw(rt, "facts")
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
func slowMachine(t *testing.T, slow time.Duration) actor.Machine[turn.State] {
	t.Helper()
	m, err := newMachine(Config{
		Model: NewOffline(), Tools: []model.Tool{{Name: "wait", Parameters: json.RawMessage(`{"type":"object"}`)}},
		Log: slog.New(slog.DiscardHandler),
	}, nobody{})
	if err != nil {
		t.Fatal(err)
	}
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
	case "new":
		return messagev1.Control{Verb: messagev1.New}
	case "edit":
		return messagev1.Edited{Message: fmt.Sprint("fact-k", i-1), Text: "edited"}
	}
	return messagev1.Received{Text: what}
}

// judge: everything that was let in has exactly one outcome, in order, and nothing is left.
func judge(_ session.ID, events []envelope.Event, s turn.State) error {
	var in, out []string
	for _, e := range events {
		switch b := e.Body.(type) {
		case messagev1.Received:
			in = append(in, e.ID)
		case messagev1.Control:
			if b.Verb == messagev1.New {
				in = append(in, e.ID)
			}
		case turnv1.Completed:
			out = append(out, b.Answers...)
		case turnv1.Failed:
			out = append(out, b.Answers...)
		case turnv1.Cancelled:
			out = append(out, b.Answers...)
		case turnv1.SessionReset:
			out = append(out, b.By)
		}
	}
	if !slices.Equal(in, out) {
		return fmt.Errorf("came in %v, ended %v", in, out)
	}
	if s.Turn != nil || len(s.Inbox) > 0 {
		return fmt.Errorf("left over: turn %v, inbox %v", s.Turn, s.Inbox)
	}
	return nil
}
