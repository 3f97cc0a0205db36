package turn_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// stage is a tiny shell: a clock, a journal position, the fold, and the claims that workers think are theirs.
type stage struct {
	now    time.Time
	cursor uint64
	state  turn.State
	rules  turn.Rules
	claims map[string]claimed
	out    strings.Builder
}

// claimed is the state as it was when a worker claimed a call of it.
type claimed struct {
	cursor uint64
	state  turn.State
}

func newStage() *stage {
	r := turn.DefaultRules()
	r.Limits.Attempts, r.Limits.Rounds = 3, 3
	r.Compact = turn.Compact{}
	r.Model, r.Models, r.Providers = "local/small", []string{"local/small", "local/big", "cloud/big"}, []string{"local", "cloud"}
	return &stage{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), rules: r, claims: map[string]claimed{}}
}

func (g *stage) set(t *testing.T, name, value string) {
	t.Helper()
	n, err := strconv.Atoi(value)
	switch name {
	case "mode", "full", "debounce":
	default:
		if err != nil {
			t.Fatal(err)
		}
	}
	switch name {
	case "mode":
		g.rules.Queue.Mode = turn.Mode(value)
	case "full":
		g.rules.Queue.Full = turn.Full(value)
	case "debounce":
		g.rules.Queue.Debounce = duration(t, value)
	case "cap":
		g.rules.Queue.Cap = n
	case "rounds":
		g.rules.Limits.Rounds = n
	case "tokens":
		g.rules.Budget.Tokens = n
	case "cost":
		g.rules.Budget.Cost = int64(n)
	case "client":
		g.rules.Client = n == 1
	case "due":
		g.rules.Compact.Due = n
	case "keep":
		g.rules.Compact.Keep = n
	default:
		t.Fatalf("there is no rule %q", name)
	}
	if err := g.rules.Validate(); err != nil {
		t.Fatal(err)
	}
}

func (g *stage) turnID() string {
	if g.state.Turn == nil {
		return ""
	}
	return g.state.Turn.ID
}

// run asks Next for worker w and appends what it says, until it says something else.
func (g *stage) run(t *testing.T, w string, gone bool) {
	t.Helper()
	for steps := 0; ; steps++ {
		if steps > 100 {
			t.Fatalf("no end: %s", compact(g.state))
		}
		claim, _ := open(g.state)
		v := machine.View{Now: g.now, Worker: w, Mine: g.claims[w].cursor}
		if gone {
			v.Gone = claim
		}
		switch step := g.state.Next(v, g.rules).(type) {
		case nil:
			fmt.Fprintf(&g.out, "%s: nothing to do\n", w)
			return
		case machine.Append:
			g.fold(envelope.Event{Body: step.Body, Cause: step.Cause})
			fmt.Fprintf(&g.out, "%s: %d %s %s <- %s%s\n", w, g.cursor, step.Body.EventType(), compact(step.Body), step.Cause, flags(step))
			if step.Claim {
				g.claims[w] = claimed{g.cursor, g.state}
			}
			gone = false
		case machine.Perform:
			fmt.Fprintf(&g.out, "%s: perform %d\n", w, step.Claim)
			return
		case machine.Held:
			fmt.Fprintf(&g.out, "%s: held by %s, claim %d, attempt %d\n", w, step.Worker, step.Claim, step.Attempt)
			return
		case machine.Wait:
			fmt.Fprintf(&g.out, "%s: wait for %s\n", w, step.Until.Sub(g.now))
			return
		}
	}
}

func flags(step machine.Append) string {
	text := ""
	if step.Beside {
		text += " beside"
	}
	if step.Tell != "" {
		text += " tell " + step.Tell
	}
	return text
}

func (g *stage) fold(ev envelope.Event) {
	g.cursor++
	ev.Cursor, ev.Time = g.cursor, g.now
	if ev.ID == "" {
		ev.ID = fmt.Sprintf("e%d", g.cursor)
	}
	g.state = g.state.Apply(ev)
}

// outcome is what a worker reports of the call that it claimed, whatever has become of it.
func (c claimed) outcome(verb, text string) envelope.Body {
	o := turnv1.Outcome{Model: "local/small", Usage: turnv1.Usage{Input: 10, Output: 1, Cost: 30_000_000, Priced: true}}
	var messages []string
	if t := c.state.Turn; t != nil {
		o.Turn, o.Round, o.Attempt, messages = t.ID, t.Claim.Round, t.Claim.Attempt, t.Messages
	}
	switch verb {
	case "done":
		return turnv1.Completed{Outcome: o, Answers: messages, Text: text}
	case "fail":
		return turnv1.Failed{Outcome: o, Answers: messages, Cause: turnv1.ModelRefused, Text: text}
	case "overflow":
		return turnv1.Overflowed{Outcome: o}
	}
	b := turnv1.Stepped{Outcome: o}
	for f := range strings.FieldsSeq(text) {
		id, tool, _ := strings.Cut(f, "=")
		tool, refusal, _ := strings.Cut(tool, "!")
		b.Calls = append(b.Calls, turnv1.Call{ID: id, Tool: tool, Arguments: json.RawMessage(`{}`), Refusal: refusal})
	}
	return b
}

// summary is what it reports of the compaction that it claimed.
func (c claimed) summary(verb, text string) envelope.Body {
	k := c.state.Compaction
	if k == nil {
		return nil
	}
	if verb == "nosummary" {
		return turnv1.CompactionFailed{Compaction: k.ID, Attempt: k.Claim.Attempt, By: k.By, Cause: turnv1.ModelGarbage, Text: text}
	}
	return turnv1.SessionCompacted{
		Compaction: k.ID, Attempt: k.Claim.Attempt, By: k.By, Through: k.Through, Turns: 1, Summary: text, Model: "local/small", Text: "Summarised.",
	}
}

// history prints what the model is shown.
func (g *stage) history() {
	if s := g.state.Summary; s != nil {
		fmt.Fprintf(&g.out, "summary through %s: %s\n", s.Through, s.Text)
	}
	for _, x := range g.state.Past {
		g.entries(x.Entries)
	}
	if g.state.Turn != nil {
		g.entries(g.state.Turn.Entries)
	}
}

func (g *stage) entries(list []turn.Entry) {
	for _, e := range list {
		who := string(e.Role)
		if e.Beside != nil && e.Beside.Told != "" {
			who = "told by " + e.Beside.Told
		}
		fmt.Fprintf(&g.out, "%s: %s\n", who, e.Text)
		for _, c := range e.Calls {
			fmt.Fprintf(&g.out, "  %s=%s done %v: %s\n", c.ID, c.Tool, c.Done, strings.TrimSpace(c.Result+" "+c.Note))
		}
	}
}
