package turns_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// unasked is a model that must not be asked.
type unasked struct{ t *testing.T }

func (unasked) Name() string     { return "big/brain" }
func (unasked) Endpoint() string { return "far away" }

func (u unasked) Generate(context.Context, model.Request, func(string)) (model.Answer, error) {
	u.t.Error("a model is asked")
	return model.Answer{}, errors.New("asked")
}

const clientSession = "claude.mcp.default.t1"

// startClient has an agent claude that is a program outside, and may read, beside one with a model and a budget that is used up.
func startClient(t *testing.T, name string, allow ...string) *house {
	t.Helper()
	return startIn(t, name, turns.Config{
		Catalog: turns.Only(unasked{t}),
		Agents: map[string]turns.Agent{"claude": {
			Client: true, Allow: allow, Model: "big/brain", Fallbacks: []string{"big/brain"}, Instructions: "Be kind.",
			Queue: turn.Queue{Mode: turn.Interrupt, Cap: 5, Full: turn.DropNewest}, Queues: map[string]turn.Mode{"mcp": turn.Steer},
			Budget: turn.Budget{Calls: 1, Tokens: 1, Cost: 1},
		}},
		Budgets: turns.Budgets{Budget: turns.DayBudget{Tokens: 1, Money: 1}},
	}, toolv1.Tool{Name: "read_file"}, toolv1.Tool{Name: "read.odd name"}, toolv1.Tool{Name: "write_file"})
}

// ended is the answer to a message whose call is never made.
func (h *house) ended(text, key string) (turnv1.Stepped, turnv1.Completed) {
	h.t.Helper()
	h.say(messagev1.Received{Text: text}, key)
	return until[turnv1.Stepped](h), until[turnv1.Completed](h)
}

// TestACallOfAClient: the message is the call, and the result is the answer, to the letter.
func TestACallOfAClient(t *testing.T) {
	h := startClient(t, clientSession, "read*")
	for i, c := range []struct {
		outcome          callv1.Outcome
		content, answers string
	}{
		{callv1.OK, "  <jetclaw-data x>\nas it is\n", "  <jetclaw-data x>\nas it is\n"},
		{callv1.OK, "", "(no output)"},
		{callv1.Error, "no such file", "error: no such file"},
		{callv1.OK, strings.Repeat("x", 60_000), strings.Repeat("x", 60_000)},
	} {
		h.say(messagev1.Received{Text: `!tool read_file {"path": "x"}`}, fmt.Sprint(i))
		step := until[turnv1.Stepped](h)
		if len(step.Calls) != 1 || step.Text != "" || step.Calls[0].Tool != "read_file" || string(step.Calls[0].Arguments) != `{"path":"x"}` {
			t.Fatalf("%+v", step)
		}
		if step.Model != "relay/client" || !step.Usage.Priced || step.Usage.Cost != 0 {
			t.Errorf("%+v", step.Outcome)
		}
		h.complete(step, c.outcome, c.content)
		if got := until[turnv1.Completed](h); got.Text != c.answers || got.Round != 2 || got.Model != "relay/client" {
			t.Errorf("%.200q", got.Text)
		}
	}
}

// TestWhatAClientMayNot is told as the result of the call, and the turn ends with it.
func TestWhatAClientMayNot(t *testing.T) {
	h := startClient(t, clientSession, "read*")
	for i, c := range []struct{ text, tool, told string }{
		{`!tool write_file {}`, "write_file", `not called: there is no tool "write_file" here`},
		{`!tool read_fil {}`, "read_fil", `not called: there is no tool "read_fil" here; there is read_file`},
		{`!tool read_file [1]`, "read_file", "not called: the arguments are not a JSON object"},
		{`!tool read_skill {"name": "x"}`, "read_skill", "not called: there is no tool"},
	} {
		step, answer := h.ended(c.text, fmt.Sprint(i))
		if len(step.Calls) != 1 || step.Calls[0].Tool != c.tool || step.Calls[0].Refusal == "" || !strings.HasPrefix(answer.Text, c.told) {
			t.Errorf("%s: %+v, answer %q", c.text, step.Calls, answer.Text)
		}
	}
	for i, said := range []messagev1.Received{
		{Text: "hello"}, {Text: "!tool"}, {Text: "!tool read_file {}", Forwarded: "a stranger"},
	} {
		h.say(said, fmt.Sprint("said ", i))
		if got := until[turnv1.Completed](h); !strings.Contains(got.Text, `!tool NAME {"argument": "value"}`) {
			t.Errorf("%+v: %q", said, got.Text)
		}
	}
}

func TestAClientMayDoNothingUnlessAllowed(t *testing.T) {
	h := startClient(t, clientSession)
	if step, answer := h.ended("!tool read_file {}", "1"); step.Calls[0].Refusal == "" || !strings.HasPrefix(answer.Text, "not called: ") {
		t.Errorf("%+v, %q", step, answer.Text)
	}
	got, err := bus.Ask[turns.Context](t.Context(), h.server.Connect(t, "cli"), "turns", "context", turns.ContextRequest{Session: clientSession})
	if err != nil || len(got.Models) != 1 || got.Models[0] != "relay/client" || len(got.Tools) != 0 || len(got.Messages) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestNoModelForAClient: not by a command, not for a summary, not in a rerun.
func TestNoModelForAClient(t *testing.T) {
	h := startClient(t, clientSession, "read*")
	h.ended("!tool write_file {}", "1")
	h.say(messagev1.Control{Verb: messagev1.Model, Argument: "big/brain"}, "2")
	if got := until[noticev1.Posted](h); !strings.HasPrefix(got.Text, "No model answers here") {
		t.Errorf("%q", got.Text)
	}
	h.say(messagev1.Control{Verb: messagev1.Compact}, "3")
	if got := until[turnv1.SessionCompacted](h); got.Summary != "Earlier calls: 1. write_file ×1" || got.Model != "relay/client" {
		t.Errorf("%+v", got)
	}
	again := turns.RerunRequest{Session: clientSession, Turn: "last", Model: "big/brain"}
	_, err := bus.Ask[turns.Rerun](t.Context(), h.server.Connect(t, "cli"), "turns", "rerun", again)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "No model answers here") {
		t.Errorf("got %v", err)
	}
}

// TestCallsOfNoClient: whatever comes from a program outside is no question to a model.
func TestCallsOfNoClient(t *testing.T) {
	for _, name := range []string{"main.mcp.default.t1", "cloude.mcp.default.t1"} {
		h := startClient(t, name, "*")
		h.say(messagev1.Received{Text: "!tool read_file {}"}, "1")
		agent, _, _ := strings.Cut(name, ".")
		got := until[turnv1.Failed](h)
		if got.Cause != turnv1.ModelUnavailable || got.Model != "" || !strings.Contains(got.Text, "Add agents."+agent+": {client: true") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTheMainAgentIsNoClient(t *testing.T) {
	h := startClient(t, clientSession)
	_, err := turns.New(turns.Config{
		Conn: h.server.Connect(t, "turns"), Catalog: turns.Only(unasked{t}), Log: slog.New(slog.DiscardHandler), Agents: map[string]turns.Agent{turns.MainAgent: {Client: true}},
	})
	if err == nil || !strings.Contains(err.Error(), "cannot be a client") {
		t.Errorf("got %v", err)
	}
	if _, err := turns.NewCatalog(turns.CatalogConfig{Providers: map[string]turns.Provider{turns.RelayProvider: {}}}); err == nil {
		t.Error("its provider can be configured")
	}
	models, err := turns.NewCatalog(turns.CatalogConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := models.Model("relay/client"); err == nil {
		t.Error("its model can be chosen")
	}
}
