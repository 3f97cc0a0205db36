package turns

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// work is a claimed model call, as the shell hands it over.
func work() actor.Work[turn.State] {
	now := time.Now()
	return actor.Work[turn.State]{Deadline: now.Add(time.Minute), State: turn.State{Turn: &turn.Turn{
		ID: "m1/t", Messages: []string{"m1"}, Entries: []turn.Entry{{Role: turn.User, Text: "hi"}}, Open: true,
		Claim: turn.Claim{Round: 1, Attempt: 2, At: now},
	}}}
}

func callerOf(t *testing.T, m Model, a Agent, tools ...toolv1.Tool) *caller {
	t.Helper()
	c, err := newCaller(Config{Catalog: Only(m), Agents: map[string]Agent{MainAgent: a}, Log: slog.New(slog.DiscardHandler)}, nobody{}, nothing{}, published(tools), noFiles{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// published are the tools of one executor.
type published []toolv1.Tool

func (published) CatalogRevision(context.Context) (uint64, error) { return 1, nil }

func (p published) Catalog(context.Context) (map[string][]byte, error) {
	data, err := json.Marshal(toolv1.Catalogue{Executor: "builtin", Tools: p})
	return map[string][]byte{"builtin": data}, err
}

// noFiles has none.
type noFiles struct{}

func (noFiles) GetFile(context.Context, session.ID, string) ([]byte, error) {
	return nil, errors.New("no such file")
}

// nothing keeps nothing.
type nothing struct{}

func (nothing) Value(context.Context, string) ([]byte, bool, error) { return nil, false, nil }
func (nothing) SetValue(context.Context, string, []byte) error      { return nil }

// TestACallThatIsEndedFromOutsideHasNoOutcome: the claim is somebody else's by then, or nobody wants the answer.
func TestACallThatIsEndedFromOutsideHasNoOutcome(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(actor.ErrFenced)
	if body, err := callerOf(t, NewOffline(), Agent{}).perform(ctx, work()); body != nil || !errors.Is(err, actor.ErrFenced) {
		t.Errorf("got %+v, %v", body, err)
	}
}

func TestNothingIsPerformedWithoutAClaim(t *testing.T) {
	if _, err := callerOf(t, NewOffline(), Agent{}).perform(t.Context(), actor.Work[turn.State]{}); !errors.Is(err, errNoClaim) {
		t.Errorf("got %v", err)
	}
}

// adapter is an adapter with a fault of its own.
type adapter struct {
	Model
	generate func() (model.Answer, error)
}

func (a adapter) Generate(context.Context, model.Request, func(string)) (model.Answer, error) {
	return a.generate()
}

func TestAnAdapterMayFailInAnyWay(t *testing.T) {
	for _, c := range []struct {
		name     string
		generate func() (model.Answer, error)
		cause    turnv1.Cause
		detail   string
	}{
		{"panic", func() (model.Answer, error) { panic("boom") }, turnv1.ModelGarbage, "panic: boom"},
		{"an error of no kind", func() (model.Answer, error) { return model.Answer{}, errors.New("odd") }, turnv1.ModelUnavailable, "odd"},
		{"an empty answer", func() (model.Answer, error) { return model.Answer{Text: " "}, nil }, turnv1.ModelGarbage, "no text"},
		{"too many calls", func() (model.Answer, error) { return model.Answer{Calls: make([]model.RawCall, 100)}, nil }, turnv1.ModelGarbage, "too many"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, err := callerOf(t, adapter{NewOffline(), c.generate}, Agent{}).perform(t.Context(), work())
			f, ok := body.(turnv1.Failed)
			if err != nil || !ok || f.Cause != c.cause || !strings.Contains(f.Detail, c.detail) || f.Text == "" || f.Attempt != 2 || f.Answers[0] != "m1" {
				t.Errorf("got %+v, %v", body, err)
			}
		})
	}
}

func TestAnAnswerAtItsLimitSaysSo(t *testing.T) {
	body, err := callerOf(t, adapter{NewOffline(), func() (model.Answer, error) {
		return model.Answer{Text: "half a sen", Cut: true}, nil
	}}, Agent{}).perform(t.Context(), work())
	if b, ok := body.(turnv1.Completed); err != nil || !ok || !strings.Contains(b.Text, "half a sen\n\n[The answer ends here") {
		t.Errorf("got %+v, %v", body, err)
	}
}
