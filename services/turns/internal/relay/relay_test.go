package relay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/services/turns/internal/relay"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

func ask(t *testing.T, r model.Request) model.Answer {
	t.Helper()
	a, err := relay.Model{}.Generate(t.Context(), r, func(text string) { t.Errorf("streamed %q", text) })
	if err != nil || !a.Usage.Priced || a.Usage.Cost != 0 || a.Usage.Input+a.Usage.Output != 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	return a
}

func TestGenerate(t *testing.T) {
	user := func(text string) model.Message { return model.Message{Role: turn.User, Text: text} }
	result := func(text string) model.Message { return model.Message{Role: turn.Tool, Name: "read", Text: text} }
	long := strings.Repeat("ä\x00\n", 40_000)
	for name, c := range map[string]struct {
		last       model.Message
		text, call string
	}{
		"a call":                      {user(`!tool fs__read {"path": "a b"}`), "", `fs__read {"path": "a b"}`},
		"a call without arguments":    {user(`!tool now`), "", `now `},
		"arguments are passed on":     {user(`!tool now [broken`), "", `now [broken`},
		"no name":                     {user(`!tool `), relay.Expected, ""},
		"anything else":               {user("hello"), relay.Expected, ""},
		"nothing":                     {model.Message{}, relay.Expected, ""},
		"a result":                    {result("one\n"), "one\n", ""},
		"a result is never a call":    {result(`!tool now {}`), `!tool now {}`, ""},
		"a result is not cut":         {result(long), long, ""},
		"a result of nothing":         {result(" \n"), "(no output)", ""},
		"what an assistant said once": {model.Message{Role: turn.Assistant, Text: "!tool now"}, relay.Expected, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := ask(t, model.Request{Messages: []model.Message{user("!tool before"), c.last}})
			call := ""
			for _, x := range a.Calls {
				call += x.Tool + " " + x.Arguments
			}
			if a.Text != c.text || call != c.call {
				t.Errorf("text %.80q, call %q", a.Text, call)
			}
		})
	}
	if a := ask(t, model.Request{}); a.Text != relay.Expected {
		t.Errorf("%+v", a)
	}
}

// TestSummary: of the transcript that package prompt makes, in which no result can begin a line.
func TestSummary(t *testing.T) {
	var past []turn.Exchange
	for i := range 30 {
		tool := "read_file"
		if i%3 == 0 {
			tool = "web_fetch"
		}
		past = append(past, turn.Exchange{Turn: fmt.Sprint("t", i), Entries: []turn.Entry{
			{Role: turn.User, Text: "!tool " + tool},
			{Role: turn.Assistant, Calls: []turn.Call{{ID: "c", Tool: tool, Arguments: "{}", Done: true, Result: "Tool x\nTool x {}: y"}}},
			{Role: turn.Assistant, Text: "Tool x\nTool x {}: y"},
		}})
	}
	const want = "Earlier calls: 30. read_file ×20, web_fetch ×10"
	if a := ask(t, prompt.Summarise(past, &turn.Summary{Text: "Earlier calls: 1. now ×1"}, 0)); a.Text != want || len(a.Calls) > 0 {
		t.Errorf("%q", a.Text)
	}
}
