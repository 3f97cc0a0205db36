package turns_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
	"github.com/jetclaw/jetclaw/services/turns/offer"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// complete answers the first call of a step.
func (h *house) complete(step turnv1.Stepped, o callv1.Outcome, content string) {
	h.t.Helper()
	_, err := h.server.Connect(h.t, "tools").Journal().AppendFact(h.t.Context(), envelope.Event{
		Session: h.session, Key: step.Turn + step.Calls[0].ID, Body: callv1.Completed{
			Executor: "builtin", Turn: step.Turn, Call: step.Calls[0].ID, Outcome: o, Content: content,
		},
	}, 0)
	if err != nil {
		h.t.Fatal(err)
	}
}

// TestToolsOfTheCatalogue: an agent is offered what it may have, under names that its provider takes; the journal has the
// tools' own names.
func TestToolsOfTheCatalogue(t *testing.T) {
	read := offer.Name("files.read")
	type request struct {
		Messages []struct {
			Role      string
			ToolCalls []struct{ Function struct{ Name string } } `json:"tool_calls"`
		}
		Tools []struct {
			Function struct {
				Name       string
				Parameters json.RawMessage
			}
		}
	}
	asked := make(chan request, 10)
	m := provider(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		var got request
		if err := json.Unmarshal(data, &got); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		asked <- got
		if last := got.Messages[len(got.Messages)-1]; last.Role == "user" {
			speak(w, `{"tool_calls":[{"index":0,"id":"c1","function":{"name":"`+read+`","arguments":"{\"path\":\"x\"}"}}]}`)
			return
		}
		speak(w, `{"content":"read"}`)
	})
	h := startWith(t, turns.Config{Catalog: turns.Only(m), Agents: map[string]turns.Agent{turns.MainAgent: {
		Allow: []string{"files.*", "now"}, Deny: []string{"*write*"},
	}}}, toolv1.Tool{Name: "now"}, toolv1.Tool{Name: "files.write"}, toolv1.Tool{Name: "shell"}, toolv1.Tool{
		Name: "files.read", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","pattern":"^(?!/)"}},"required":["path"]}`),
	})
	h.say(messagev1.Received{Text: "read x"}, "k1")
	first := within(t, asked)
	if len(first.Tools) != 2 || first.Tools[0].Function.Name != read || first.Tools[1].Function.Name != "now" {
		t.Errorf("it is offered %+v", first.Tools)
	}
	if s := string(first.Tools[0].Function.Parameters); strings.Contains(s, `"pattern":`) || !strings.Contains(s, "must match the pattern") {
		t.Errorf("arguments are %s", s)
	}
	step := until[turnv1.Stepped](h)
	if c := step.Calls[0]; c.Tool != "files.read" || c.Refusal != "" {
		t.Errorf("it calls %+v", c)
	}
	h.complete(step, callv1.OK, "text")
	if got := within(t, asked); got.Messages[len(got.Messages)-2].ToolCalls[0].Function.Name != read {
		t.Errorf("the past is shown as %+v", got.Messages)
	}
	until[turnv1.Completed](h)
	told, err := bus.Ask[turns.Context](t.Context(), h.server.Connect(t, "cli"), "turns", "context", turns.ContextRequest{Session: string(h.session)})
	if err != nil || len(told.Tools) != 2 || told.Tools[0].Name != read {
		t.Errorf("the context has %+v, %v", told.Tools, err)
	}
}

// TestALoopIsEnded: the same call that fails again and again ends the turn; the next message goes on.
func TestALoopIsEnded(t *testing.T) {
	m := provider(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		if strings.Contains(string(data), "enough") {
			speak(w, `{"content":"well"}`)
			return
		}
		speak(w, `{"tool_calls":[{"index":0,"function":{"name":"clock","arguments":"{}"}}]}`)
	})
	h := start(t, m, turn.Limits{}, toolv1.Tool{Name: "clock"})
	h.say(messagev1.Received{Text: "what time is it?"}, "k1")
	for _, o := range []callv1.Outcome{callv1.Error, callv1.TimedOut, callv1.Refused} {
		h.complete(until[turnv1.Stepped](h), o, "broken")
	}
	if got := until[turnv1.Failed](h); got.Cause != turnv1.Looping || !strings.Contains(got.Text, `the tool "clock" 3 times`) || got.Round != 3 {
		t.Errorf("got %+v", got)
	}
	h.say(messagev1.Received{Text: "enough"}, "k2")
	if got := until[turnv1.Completed](h); got.Text != "well" {
		t.Errorf("got %+v", got)
	}
}

// The offline model asks for a tool by whatever name a person knows.
func TestTheOfflineModelFindsTools(t *testing.T) {
	h := start(t, turns.NewOffline(), turn.Limits{}, toolv1.Tool{Name: "now"}, toolv1.Tool{Name: "files.read"})
	for i, name := range []string{"now", "files.read", offer.Name("files.read")} {
		h.say(messagev1.Received{Text: "!tool " + name + " {}"}, string(rune('a'+i)))
		step := until[turnv1.Stepped](h)
		if c := step.Calls[0]; c.Refusal != "" || offer.Name(c.Tool) != offer.Name(name) {
			t.Errorf("%s calls %+v", name, c)
		}
		h.complete(step, callv1.OK, "noon")
		if got := until[turnv1.Completed](h); !strings.Contains(got.Text, "noon") {
			t.Errorf("got %+v", got)
		}
	}
}
