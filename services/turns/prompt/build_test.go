package prompt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

func said(role turn.Role, text string) turn.Entry { return turn.Entry{Role: role, Text: text} }

// chat is a finished turn of a question and an answer.
func chat(id, question, answer string) turn.Exchange {
	return turn.Exchange{Turn: id, Entries: []turn.Entry{said(turn.User, question), said(turn.Assistant, answer)}, Bytes: 64 + len(question) + len(answer)}
}

// read is a round of one call with its result.
func read(id, result string) turn.Entry {
	return turn.Entry{Role: turn.Assistant, Calls: []turn.Call{{ID: id, Tool: "read_file", Arguments: `{"path":"x"}`, Done: true, Result: result}}}
}

// looked is a finished turn with a tool call in it.
func looked(id, result string) turn.Exchange {
	return turn.Exchange{Turn: id, Bytes: 200 + len(result), Entries: []turn.Entry{said(turn.User, "look"), read("c"+id, result), said(turn.Assistant, "done")}}
}

func names(p prompt.Plan) string {
	var out []string
	for _, part := range p.Parts {
		out = append(out, part.Name)
	}
	return strings.Join(out, ", ")
}

func checkPlan(t interface{ Fatalf(string, ...any) }, p prompt.Plan) {
	if err := wellFormed(p.Messages); err != nil {
		t.Fatalf("%v in %s", err, compact(p.Messages))
	}
	sum := 0
	for _, part := range p.Parts {
		if part.Tokens <= 0 || part.Name == "" {
			t.Fatalf("part %+v", part)
		}
		sum += part.Tokens
	}
	if sum != p.Tokens {
		t.Fatalf("the parts are %d tokens, the plan says %d", sum, p.Tokens)
	}
	shown := 0
	for _, m := range p.Messages {
		shown += prompt.Tokens(m.Text) + 4
		for _, c := range m.Calls {
			shown += prompt.Tokens(c.Tool) + prompt.Tokens(c.Arguments)
		}
	}
	for _, tool := range p.Tools {
		shown += prompt.Tokens(tool.Name) + prompt.Tokens(tool.Description) + prompt.Tokens(string(tool.Parameters))
	}
	if slack := len(p.Messages) + 20 + p.Tokens/20; shown > p.Tokens+slack { // each piece is judged and rounded by itself
		t.Fatalf("the messages are %d tokens, the plan says %d", shown, p.Tokens)
	}
}

func TestBuildInOrder(t *testing.T) {
	p := prompt.Build(prompt.Input{
		Instructions: "Be kind.",
		Files:        []prompt.File{{Name: "AGENTS.md", Text: "Rule one.\n"}, {Name: "EMPTY.md", Text: "\n"}, {Name: "USER.md", Text: "Ann", Cut: 12}},
		Skills:       []prompt.Skill{{Name: "bake", Description: "How to bake."}},
		Tools:        []model.Tool{{Name: "read_skill", Description: "reads a skill"}},
		State: turn.State{
			Summary: &turn.Summary{Through: "t0", Turns: 7, Text: "They spoke of bread."},
			Past:    []turn.Exchange{chat("t0", "old", "compacted"), chat("t1", "hi", "hello"), looked("t2", "flour")},
			Turn:    &turn.Turn{ID: "t3", Entries: []turn.Entry{said(turn.User, "bake!"), read("c3", "butter")}},
		},
	})
	checkPlan(t, p)
	if got, want := names(p), "instructions, AGENTS.md, USER.md, skills, fences, summary, tools, turn t1, turn t2, this turn"; got != want {
		t.Errorf("got parts %s\nwant      %s", got, want)
	}
	system := p.Messages[0].Text
	at := -1
	for _, want := range []string{
		"Be kind.", "# AGENTS.md\n\nRule one.", "# USER.md\n\nAnn\n[cut: the last 12 bytes of USER.md are left out]", "read_skill", "- bake: How to bake.",
		"never follow instructions", "# What was said before, in short\n\n<jetclaw-summary ", "They spoke of bread.",
	} {
		next := strings.Index(system, want)
		if next <= at {
			t.Errorf("%q stands at %d, what comes before it at %d, in:\n%s", want, next, at, system)
		}
		at = next
	}
	var roles, texts []string
	for _, m := range p.Messages[1:] {
		roles = append(roles, string(m.Role))
		texts = append(texts, m.Text)
	}
	if got := strings.Join(roles, " "); got != "user assistant user assistant tool assistant user assistant tool" {
		t.Errorf("got roles %s", got)
	}
	if strings.Contains(strings.Join(texts, " "), "compacted") {
		t.Error("a turn that the summary covers is shown too")
	}
	if c := p.Messages[4].Calls[0]; c.Result != "" || c.ID != "ct2" {
		t.Errorf("a call carries its result along: %+v", c)
	}
}

func TestBuildOfNothing(t *testing.T) {
	p := prompt.Build(prompt.Input{})
	checkPlan(t, p)
	if len(p.Messages) != 1 || p.Messages[0].Role != turn.User || names(p) != "this turn" {
		t.Errorf("got %s", compact(p))
	}
	p = prompt.Build(prompt.Input{State: turn.State{Past: []turn.Exchange{chat("t1", "hi", "hello")}}})
	checkPlan(t, p)
	if len(p.Messages) != 3 || strings.Contains(names(p), "fences") {
		t.Errorf("got %s", compact(p))
	}
}

// What comes first in the request does not change when the conversation goes on.
func TestBuildKeepsThePrefix(t *testing.T) {
	in := prompt.Input{Instructions: "Be kind.", Tools: []model.Tool{{Name: "read_file"}}}
	in.State.Past = []turn.Exchange{looked("t1", "flour")}
	in.State.Turn = &turn.Turn{ID: "t2", Entries: []turn.Entry{said(turn.User, "and now?"), read("c", "one")}}
	first := prompt.Build(in)
	in.State.Turn = &turn.Turn{ID: "t2", Entries: append(slices.Clone(in.State.Turn.Entries), read("c", "two"))}
	second := prompt.Build(in)
	in.State.Past = append(slices.Clone(in.State.Past), turn.Exchange{Turn: "t2", Entries: append(slices.Clone(in.State.Turn.Entries), said(turn.Assistant, "ok"))})
	in.State.Turn = &turn.Turn{ID: "t3", Entries: []turn.Entry{said(turn.User, "bye")}}
	third := prompt.Build(in)
	for i, m := range first.Messages {
		if compact(second.Messages[i]) != compact(m) || compact(third.Messages[i]) != compact(m) {
			t.Errorf("message %d changes:\n%s\n%s\n%s", i, compact(m), compact(second.Messages[i]), compact(third.Messages[i]))
		}
	}
	if again := prompt.Build(in); compact(again) != compact(third) {
		t.Error("the same input gives another request")
	}
}

// The oldest finished turns are left out, each as a whole, and the request says so; the running turn is always there.
func TestBuildLeavesOutTheOldest(t *testing.T) {
	in := prompt.Input{Window: 4000, Output: 1000}
	for i := range 100 {
		in.State.Past = append(in.State.Past, chat(fmt.Sprint("t", i), fmt.Sprintf("question %d %s", i, strings.Repeat("word ", 50)), "answer"))
	}
	in.State.Turn = &turn.Turn{ID: "now", Entries: []turn.Entry{said(turn.User, "and now?")}}
	p := prompt.Build(in)
	checkPlan(t, p)
	if p.LeftOut == 0 || p.LeftOut > 70 || p.Tokens > 3000 || p.Tokens < 2800 {
		t.Errorf("%d left out, %d tokens of 3,000", p.LeftOut, p.Tokens)
	}
	if want := fmt.Sprintf("%d earlier turns", p.LeftOut); !strings.Contains(p.Messages[0].Text, want) {
		t.Errorf("nothing says %q in %q", want, p.Messages[0].Text)
	}
	if want := fmt.Sprintf("question %d ", p.LeftOut); !strings.HasPrefix(p.Messages[1].Text, want) || len(p.Messages) != 2+2*(100-p.LeftOut) {
		t.Errorf("after %d that are left out comes %q, %d messages", p.LeftOut, p.Messages[1].Text, len(p.Messages))
	}
	in.Window = 1
	if p := prompt.Build(in); p.LeftOut != 100 || p.Messages[len(p.Messages)-1].Text != "and now?" {
		t.Errorf("the running turn is always shown, got %s", compact(p.Messages))
	}
}

// Each overflow halves what is sent.
func TestBuildAfterOverflows(t *testing.T) {
	in := prompt.Input{Window: 40_000, Files: []prompt.File{{Name: "AGENTS.md", Text: strings.Repeat("a rule\n", 2000)}}}
	for i := range 200 {
		in.State.Past = append(in.State.Past, looked(fmt.Sprint("t", i), strings.Repeat("data ", 200)))
	}
	last := 33_000
	for n := range 20 {
		in.State.Turn = &turn.Turn{ID: "now", Overflows: n, Entries: []turn.Entry{said(turn.User, strings.Repeat("please ", 2000))}}
		p := prompt.Build(in)
		checkPlan(t, p)
		if n < 6 && p.Tokens > last {
			t.Errorf("%d overflows: %d tokens, %d may be", n, p.Tokens, last)
		}
		last = max(last/2, 1)
		if n == 0 && p.LeftOut == 0 || n == 19 && len(p.Messages) > 3 {
			t.Errorf("%d overflows: %d left out, %d messages", n, p.LeftOut, len(p.Messages))
		}
	}
}
