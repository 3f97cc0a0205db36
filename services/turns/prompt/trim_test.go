package prompt_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// wholeResults are the results of p that nothing is cut from, by their calls.
func wholeResults(p prompt.Plan, bytes int) map[string]bool {
	out := map[string]bool{}
	for _, m := range p.Messages {
		if m.Role == turn.Tool {
			out[m.Call] = len(m.Text) >= bytes && !strings.Contains(m.Text, "[cut: ")
		}
	}
	return out
}

// Old results of finished turns are cut before a turn is left out, the newest turns keep theirs.
func TestOldResultsAreCutFirst(t *testing.T) {
	result := strings.Repeat("data ", 800)
	in := prompt.Input{Window: 12_000, Output: 2000}
	for i := range 20 {
		in.State.Past = append(in.State.Past, looked(fmt.Sprint("t", i), result))
	}
	in.State.Turn = &turn.Turn{ID: "now", Entries: []turn.Entry{said(turn.User, "and now?"), read("c", result)}}
	p := prompt.Build(in)
	checkPlan(t, p)
	if p.LeftOut != 0 || p.Tokens > 10_000 {
		t.Fatalf("%d left out, %d tokens of 10,000", p.LeftOut, p.Tokens)
	}
	whole := wholeResults(p, len(result))
	for i := 1; i < 20; i++ {
		if whole[fmt.Sprint("ct", i-1)] && !whole[fmt.Sprint("ct", i)] {
			t.Errorf("the result of turn %d is cut, that of the one before is not", i)
		}
	}
	if whole["ct0"] || !whole["ct19"] || !whole["ct18"] || !whole["c"] {
		t.Errorf("got %v", whole)
	}
	if want := "[cut: 3232 of 4000 bytes left out]"; !strings.Contains(p.Messages[3].Text, want) || !strings.HasPrefix(p.Messages[3].Text, "<jetclaw-data ") {
		t.Errorf("the first result is %q, want %q", p.Messages[3].Text, want)
	}
	if in.State.Past[0].Entries[1].Calls[0].Result != result {
		t.Error("the state is written to")
	}
}

// A running turn that grows cuts its own earlier rounds before everything that was said before is pushed out.
func TestEarlierRoundsAreCut(t *testing.T) {
	result := strings.Repeat("data ", 2000) // about 2,600 tokens
	in := prompt.Input{Window: 14_000, Output: 2000}
	in.State.Past = []turn.Exchange{chat("t1", "hi", "hello"), chat("t2", "do it", "which one?")}
	entries := []turn.Entry{said(turn.User, "the second")}
	for i := range 6 {
		entries = append(entries, read(fmt.Sprint("r", i), result))
	}
	in.State.Turn = &turn.Turn{ID: "now", Entries: entries}
	p := prompt.Build(in)
	checkPlan(t, p)
	whole := wholeResults(p, len(result))
	if p.LeftOut != 0 || p.Tokens > 12_000 || whole["r0"] || !whole["r4"] || !whole["r5"] {
		t.Errorf("%d left out, %d tokens of 12,000, whole are %v", p.LeftOut, p.Tokens, whole)
	}
	if entries[1].Calls[0].Result != result {
		t.Error("the state is written to")
	}
}

// A running turn that would just fit still leaves a quarter to what was said before.
func TestTheRunningTurnLeavesRoom(t *testing.T) {
	result := strings.Repeat("data ", 1800) // about 2,000 tokens
	in := prompt.Input{Window: 12_000, Output: 2000}
	for i := range 18 {
		in.State.Past = append(in.State.Past, chat(fmt.Sprint("t", i), strings.Repeat("words ", 100), "answer"))
	}
	in.State.Turn = &turn.Turn{ID: "now", Entries: []turn.Entry{said(turn.User, "now"), read("r0", result), read("r1", result), read("r2", result), read("r3", result)}}
	p := prompt.Build(in)
	checkPlan(t, p)
	if whole := wholeResults(p, len(result)); p.LeftOut > 0 || p.Tokens > 10_000 || whole["r0"] || !whole["r3"] {
		t.Errorf("%d left out, %d tokens of 10,000, whole are %v", p.LeftOut, p.Tokens, whole)
	}
}

// What the last round needs is taken from the rounds before it.
func TestTheLastRoundKeepsMost(t *testing.T) {
	in := prompt.Input{Window: 6000, Output: 2000}
	in.State.Turn = &turn.Turn{ID: "now", Entries: []turn.Entry{
		said(turn.User, "now"), read("r0", strings.Repeat("data ", 2000)), read("r1", strings.Repeat("data ", 10_000)),
	}}
	p := prompt.Build(in)
	checkPlan(t, p)
	first, last := len(p.Messages[3].Text), len(p.Messages[5].Text)
	if p.Tokens > 4000 || first > 1100 || last < 3000 {
		t.Errorf("%d tokens of 4,000, results of %d and %d bytes", p.Tokens, first, last)
	}
}

// When cutting one old result makes enough room, the others are left whole.
func TestNoMoreIsCutThanNeeded(t *testing.T) {
	result := strings.Repeat("data ", 800) // about 970 tokens with its frame
	in := prompt.Input{Window: 12_000, Output: 2000}
	for i := range 11 {
		in.State.Past = append(in.State.Past, looked(fmt.Sprint("t", i), result))
	}
	p := prompt.Build(in)
	checkPlan(t, p)
	cut := 0
	for _, whole := range wholeResults(p, len(result)) {
		if !whole {
			cut++
		}
	}
	if cut < 1 || cut > 2 || p.LeftOut > 0 || p.Tokens > 10_000 {
		t.Errorf("%d of 11 results are cut, %d tokens of 10,000", cut, p.Tokens)
	}
}

// One result that is larger than the window is cut down until it fits, and so is a long message.
func TestWhatIsTooLargeAlone(t *testing.T) {
	in := prompt.Input{Window: 4000, Output: 1000}
	in.State.Turn = &turn.Turn{ID: "now", Entries: []turn.Entry{said(turn.User, "look"), read("c", strings.Repeat("data ", 12_000))}}
	p := prompt.Build(in)
	checkPlan(t, p)
	if p.Tokens > 3000 || p.Tokens < 1000 || !strings.Contains(p.Messages[3].Text, "[cut: ") || strings.Contains(p.Messages[1].Text, "[cut: ") {
		t.Errorf("%d tokens of 3,000: %s", p.Tokens, compact(p.Messages))
	}
	in.State.Turn = &turn.Turn{ID: "now", Entries: []turn.Entry{said(turn.User, strings.Repeat("ä word ", 12_000))}}
	p = prompt.Build(in)
	checkPlan(t, p)
	if p.Tokens > 3000 || p.Tokens < 1000 || !strings.Contains(p.Messages[0].Text, "bytes left out]") {
		t.Errorf("%d tokens of 3,000: %s", p.Tokens, compact(p.Messages))
	}
}

// Files and skills have their shares.
func TestSharesOfTheSystemText(t *testing.T) {
	in := prompt.Input{Window: 6000, Output: 2000, Instructions: "Be kind."}
	for _, name := range []string{"AGENTS.md", "SOUL.md"} {
		in.Files = append(in.Files, prompt.File{Name: name, Text: strings.Repeat("a rule that holds\n", 1000), Cut: 5})
	}
	for i := range 60 {
		in.Skills = append(in.Skills, prompt.Skill{Name: fmt.Sprint("skill-", i), Description: strings.Repeat("does a thing ", 5)})
	}
	in.State.Summary = &turn.Summary{Through: "t", Turns: 3, Text: strings.Repeat("they said much ", 1000)}
	in.State.Turn = &turn.Turn{ID: "now", Entries: []turn.Entry{said(turn.User, "hi")}}
	p := prompt.Build(in)
	checkPlan(t, p)
	if p.Tokens > 4000 {
		t.Errorf("%d tokens of 4,000: %+v", p.Tokens, p.Parts)
	}
	for _, want := range []string{"bytes of SOUL.md are left out]", "more skills are not listed]", "bytes left out]"} {
		if !strings.Contains(p.Messages[0].Text, want) {
			t.Errorf("nothing says %q in:\n%s", want, p.Messages[0].Text)
		}
	}
	if in.Files[0].Cut != 5 {
		t.Error("the input is written to")
	}
}

// TestBuildFits: whatever the state, the request is well formed and within the window as far as it can be.
func TestBuildFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := 0
		text := func(name string, most int) string {
			unit := rapid.SampledFrom([]string{"word ", "漢字", "x", "\n", "é, ", "\xff"}).Draw(t, name)
			return strings.Repeat(unit, rapid.IntRange(0, most).Draw(t, name+" length"))
		}
		rounds := func() []turn.Entry {
			entries := []turn.Entry{said(turn.User, text("question", 500))}
			for range rapid.IntRange(0, 4).Draw(t, "rounds") {
				e := turn.Entry{Role: turn.Assistant, Text: text("thought", 50)}
				for range rapid.IntRange(0, 3).Draw(t, "calls") {
					n++
					e.Calls = append(e.Calls, turn.Call{
						ID: fmt.Sprint("c", n%7), Tool: "read", Arguments: `{"a":1}`,
						Done: rapid.Bool().Draw(t, "done"), Own: rapid.Bool().Draw(t, "own"), Result: text("result", 3000),
					})
				}
				entries = append(entries, e)
			}
			return entries
		}
		in := prompt.Input{Window: rapid.IntRange(2000, 40_000).Draw(t, "window"), Instructions: "Be kind.", Tools: []model.Tool{{Name: "read"}}}
		for i := range rapid.IntRange(0, 8).Draw(t, "past") {
			in.State.Past = append(in.State.Past, turn.Exchange{Turn: fmt.Sprint("t", i), Entries: append(rounds(), said(turn.Assistant, text("answer", 300)))})
		}
		if rapid.Bool().Draw(t, "summary") {
			in.State.Summary = &turn.Summary{Through: "t1", Turns: 2, Text: text("summary", 2000)}
		}
		if rapid.Bool().Draw(t, "running") {
			in.State.Turn = &turn.Turn{ID: "now", Entries: rounds()}
		}
		before := compact(in)
		p := prompt.Build(in)
		if compact(in) != before {
			t.Fatalf("the input is written to")
		}
		checkPlan(t, p)
		floor := 200 + 12*200 + 5*300 // of a running turn of this size
		if in.State.Turn == nil {
			floor = 0
		}
		if budget := in.Window - min(8192, in.Window/4); p.Tokens > max(budget, floor+budget*3/8) {
			t.Fatalf("%d tokens of %d: %+v", p.Tokens, budget, p.Parts)
		}
	})
}
