package turns_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

func (h *house) rerun(r turns.RerunRequest) (turns.Rerun, error) {
	h.t.Helper()
	r.Session = string(h.session)
	return bus.Ask[turns.Rerun](h.t.Context(), h.server.Connect(h.t, "cli"), "turns", "rerun", r)
}

// script is a provider that answers the n-th request of a model with the n-th chunk, and then with the last.
type script struct {
	mu    sync.Mutex
	says  map[string][]string
	asked map[string][]string
}

func (s *script) serve(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	var req struct{ Model string }
	_ = json.Unmarshal(data, &req)
	s.mu.Lock()
	n := len(s.asked[req.Model])
	s.asked[req.Model] = append(s.asked[req.Model], string(data))
	list := s.says[req.Model]
	s.mu.Unlock()
	if len(list) == 0 {
		http.Error(w, `{"error":{"message":"no such model"}}`, http.StatusNotFound)
		return
	}
	speak(w, list[min(n, len(list)-1)])
}

func (s *script) requests(model string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked[model])
}

func calls(list ...string) string {
	var all []string
	for i, c := range list {
		name, args, _ := strings.Cut(c, " ")
		all = append(all, fmt.Sprintf(`{"index":%d,"id":"c%d","function":{"name":%q,"arguments":%q}}`, i, i, name, args))
	}
	return `{"tool_calls":[` + strings.Join(all, ",") + `]}`
}

func playing(t *testing.T, s *script, tools ...toolv1.Tool) *house {
	t.Helper()
	s.asked = map[string][]string{}
	m := provider(t, s.serve)
	catalog, err := turns.NewCatalog(turns.CatalogConfig{
		Providers: map[string]turns.Provider{"p": {API: turns.OpenAI, BaseURL: m.Endpoint(), APIKey: "sk-test"}}, Named: []string{"p/one", "p/two"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return startWith(t, turns.Config{Catalog: catalog, Agents: map[string]turns.Agent{turns.MainAgent: {Model: "p/one", Fallbacks: []string{"p/three"}}}}, tools...)
}

// TestRerun: another model is asked for a turn, with the results that the turn's own calls had; nothing runs, and nothing is
// written.
func TestRerun(t *testing.T) {
	s := &script{says: map[string][]string{
		"one": {calls(`weather {"city":"Bern","day":1}`, `weather {"city":"Bern","day":1}`), `{"content":"sunny, then rain"}`, `{"content":"well"}`},
		"two": {
			calls(`weather {"day":1, "city":"Bern"}`), calls(`weather {"day":1,"city":"Bern"}`, `weather {"city":"Basel"}`, `nothing {}`),
			calls(`weather {"day":1,"city":"Bern"}`), `{"content":"rain"}`,
		},
	}}
	h := playing(t, s, toolv1.Tool{Name: "weather"})
	h.say(messagev1.Received{Text: "how is the weather?"}, "k1")
	step := until[turnv1.Stepped](h)
	h.complete(step, callv1.OK, "sunny")
	step.Calls = step.Calls[1:]
	h.complete(step, callv1.OK, "rainy")
	until[turnv1.Completed](h)
	h.say(messagev1.Received{Text: "thanks"}, "k2")
	until[turnv1.Completed](h)
	before := h.lines(h.session)
	for _, name := range []string{"1", "id-k1/t", "id-k1"} {
		got, err := h.rerun(turns.RerunRequest{Turn: name, Model: "two"})
		if err != nil {
			t.Fatal(err)
		}
		if name != "1" { // the script is over
			if got.Now.Text != "rain" || got.Now.Rounds != 1 {
				t.Errorf("%+v", got)
			}
			continue
		}
		if got.Turn != "id-k1/t" || got.Model != "p/two" || got.Unmatched != 1 || !slices.Equal(got.Messages, []string{"how is the weather?"}) {
			t.Errorf("%+v", got)
		}
		if p := got.Then; p.Model != "p/one" || p.Rounds != 2 || p.End != turns.EndCompleted || p.Text != "sunny, then rain" || p.Usage.Input != 10 || len(p.Calls) != 2 {
			t.Errorf("then %+v", p)
		}
		if p := got.Now; p.Model != "p/two" || p.Rounds != 4 || p.End != turns.EndCompleted || p.Text != "rain" || p.Usage.Output != 8 || len(p.Calls) != 5 {
			t.Errorf("now %+v", p)
		}
		for i, want := range []string{"sunny", "rainy", "denied: not recorded: rerun runs no tools", `there is no tool "nothing" here`, "rainy"} {
			if c := got.Now.Calls[i]; !strings.Contains(c.Result, want) {
				t.Errorf("call %d has %+v, want %s", i, c, want)
			}
		}
	}
	if now := h.lines(h.session); now != before {
		t.Errorf("the session was\n%s\nand is\n%s", before, now)
	}
	one, two := s.requests("one"), s.requests("two")
	if strings.Contains(two[0], "thanks") || !strings.Contains(two[0], "how is the weather?") {
		t.Errorf("it is asked\n%s", two[0])
	}
	if got := strings.Replace(two[0], `"two"`, `"one"`, 1); got != one[0] {
		t.Errorf("it is asked\n%s\nnot\n%s", got, one[0])
	}
	last, err := h.rerun(turns.RerunRequest{Turn: "last"})
	if err != nil || last.Model != "p/one" || last.Then.Text != "well" || last.Now.Text != "well" {
		t.Errorf("%+v, %v", last, err)
	}
}

// TestRerunFails: what cannot be is refused in words, and a model that fails is told of.
func TestRerunFails(t *testing.T) {
	s := &script{says: map[string][]string{"one": {`{"content":"hi"}`}, "loop": {calls(`weather {}`)}}}
	h := playing(t, s, toolv1.Tool{Name: "weather"})
	if got, err := h.rerun(turns.RerunRequest{Turn: "1"}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("%+v, %v", got, err)
	}
	h.say(messagev1.Received{Text: "hello"}, "k1")
	until[turnv1.Completed](h)
	for name, c := range map[string]struct {
		r    turns.RerunRequest
		says string
	}{
		"no turn":       {turns.RerunRequest{Turn: "2"}, `has no turn "2": name one by its number, 1 to 1`},
		"a turn of air": {turns.RerunRequest{Turn: ""}, `has no turn ""`},
		"no model":      {turns.RerunRequest{Turn: "1", Model: "nope"}, `There is no model "nope"`},
	} {
		if got, err := h.rerun(c.r); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	// A model that cannot answer says so, and no fallback answers for it; one that does not end is ended.
	got, err := h.rerun(turns.RerunRequest{Turn: "1", Model: "p/gone"})
	if err != nil || got.Now.End != turns.EndFailed || got.Now.Model != "p/gone" || len(s.requests("three")) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = h.rerun(turns.RerunRequest{Turn: "1", Model: "p/loop"})
	if err != nil || got.Now.End != turns.EndFailed || got.Now.Cause != turnv1.Looping || got.Unmatched != 3 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestRerunOfAFork: a turn that began in the past of a fork and ended in it is one turn.
func TestRerunOfAFork(t *testing.T) {
	s := &script{says: map[string][]string{
		"one": {calls(`weather {}`), `{"content":"no weather"}`, `{"content":"no weather"}`}, "two": {calls(`weather {}`), `{"content":"none"}`},
	}}
	h := playing(t, s, toolv1.Tool{Name: "weather"})
	h.say(messagev1.Received{Text: "how is the weather?"}, "k1")
	until[turnv1.Stepped](h)
	fork, err := h.fork(turns.ForkRequest{})
	if err != nil {
		t.Fatal(err)
	}
	ends[turnv1.Completed](h, fork.Session)
	h.session = fork.Session
	got, err := h.rerun(turns.RerunRequest{Turn: "last", Model: "two"})
	if err != nil || got.Then.Rounds != 2 || got.Then.Text != "no weather" || got.Now.Text != "none" || got.Unmatched != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestRerunOfMuch: an answer is never larger than the bus takes.
func TestRerunOfMuch(t *testing.T) {
	much := strings.Repeat("<", 200<<10)
	chunk, err := json.Marshal(map[string]string{"content": much})
	if err != nil {
		t.Fatal(err)
	}
	h := playing(t, &script{says: map[string][]string{"one": {string(chunk)}, "two": {string(chunk)}}})
	h.say(messagev1.Received{Text: much}, "k1")
	until[turnv1.Completed](h)
	got, err := h.rerun(turns.RerunRequest{Turn: "1", Model: "two"})
	if err != nil || !strings.Contains(got.Now.Text, "more bytes are left out") || !strings.Contains(got.Messages[0], "[The message ends here") {
		t.Errorf("%d bytes, %v", len(got.Now.Text), err)
	}
}

// TestRerunHasABudget: when that of the day is used up, nothing is asked.
func TestRerunHasABudget(t *testing.T) {
	var n int
	m := provider(t, func(w http.ResponseWriter, _ *http.Request) { n++; speak(w, `{"content":"hi"}`) })
	h := startWith(t, turns.Config{
		Catalog: turns.Only(m), Agents: map[string]turns.Agent{turns.MainAgent: {Limits: turn.DefaultLimits()}},
		Budgets: turns.Budgets{Budget: turns.DayBudget{Tokens: 5}},
	})
	h.say(messagev1.Received{Text: "hello"}, "k1")
	until[turnv1.Completed](h)
	h.say(messagev1.Received{Text: "more"}, "k2")
	until[turnv1.Failed](h)
	if got, err := h.rerun(turns.RerunRequest{Turn: "1"}); fault.KindOf(err) != fault.Denied || n != 1 {
		t.Errorf("%+v, %v, %d calls", got, err, n)
	}
}
