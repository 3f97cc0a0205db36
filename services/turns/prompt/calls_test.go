package prompt_test

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/turns/offer"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// What jetclaw adds to a result stands behind the fence: it is no part of the data.
func TestNotesAreOutside(t *testing.T) {
	c := turn.Call{ID: "c1", Tool: "read", Arguments: "{}", Done: true, Result: "hello", Note: "[cut: more]"}
	if got := shownAs("t1", c); !strings.HasSuffix(got, ">\n[cut: more]") || !strings.HasPrefix(got, "<jetclaw-data ") {
		t.Errorf("got %q", got)
	}
	c.Own = true
	if got := shownAs("t1", c); got != "hello\n[cut: more]" {
		t.Errorf("got %q", got)
	}
	c.Result = ""
	if got := shownAs("t1", c); got != "(no output)\n[cut: more]" {
		t.Errorf("got %q", got)
	}
}

// A result that is cut to fit says how to read what is left out, when an event has it.
func TestWhatIsCutCanBeRead(t *testing.T) {
	e := read("c", "error: "+strings.Repeat("data ", 12_000))
	e.Calls[0].Cursor, e.Calls[0].Lead = 17, len("error: ")
	in := prompt.Input{Window: 4000, Output: 1000}
	in.State.Turn = &turn.Turn{ID: "now", Entries: []turn.Entry{said(turn.User, "look"), e}}
	p := prompt.Build(in)
	checkPlan(t, p)
	text := p.Messages[len(p.Messages)-1].Text
	before, _, _ := strings.Cut(text, "\n[cut: ")
	_, shown, _ := strings.Cut(before, "error: ")
	_, after, found := strings.Cut(text, `[call read_result {"result":"17","offset":`)
	if offset, _, _ := strings.Cut(after, "}"); !found || offset == "" || strings.Count(shown, "data ")*5 > number(offset) || number(offset) > len(shown) || p.Tokens > 3000 {
		t.Errorf("%d bytes are shown at first, and %q", len(shown), text[max(0, len(text)-200):])
	}
	if e.Calls[0].Note != "" {
		t.Error("the state is written to")
	}
}

func number(digits string) int {
	n := 0
	for _, d := range digits {
		n = n*10 + int(d-'0')
	}
	return n
}

// Calls of the past stand under the names that tools are offered with.
func TestCallsHaveOfferedNames(t *testing.T) {
	tools := []toolv1.Tool{{Name: "files.read"}, {Name: offer.Name("files.read")}}
	offered, names := offer.Portable(tools, offer.OpenAI)
	names.LeftOut = []string{"x", "y"}
	c := turn.Call{ID: "c", Arguments: "{}", Done: true, Result: "x"}
	var calls []turn.Call
	for _, tool := range []string{"files.read", offer.Name("files.read"), "gone.away"} {
		c.Tool = tool
		c.ID += "1"
		calls = append(calls, c)
	}
	p := prompt.Build(prompt.Input{Tools: offered, Names: names, State: turn.State{Turn: &turn.Turn{ID: "now", Entries: []turn.Entry{
		said(turn.User, "go"), {Role: turn.Assistant, Calls: calls},
	}}}})
	checkPlan(t, p)
	got := p.Messages[2].Calls
	if got[0].Tool != names.Portable("files.read") || got[1].Tool != names.Portable(offer.Name("files.read")) || got[0].Tool == got[1].Tool ||
		got[2].Tool != offer.Name("gone.away") || p.Messages[3].Name != got[0].Tool {
		t.Errorf("got %s", compact(p.Messages))
	}
	if calls[0].Tool != "files.read" {
		t.Error("the state is written to")
	}
	for _, part := range p.Parts {
		if part.Name == "tools" && !strings.Contains(part.Note, "2; 2 more are left out") {
			t.Errorf("got %+v", part)
		}
	}
}
