package turn_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// TestScenarios plays testdata/*.txt: blocks of commands, "----", and what they print.
//
//	say ID TEXT · again ID TEXT (the same source key) · edit ID TEXT · new ID · stop ID · clock DURATION · rounds N
//	run W [gone]     worker W takes steps until it has to perform, is held, or nothing is to be done
//	done W TEXT · fail W TEXT · step W ID=TOOL[!REFUSAL]...   the outcome of the claim that W made last, open or not
//	crash W          W forgets what it claimed
//	ok ID TEXT · error ID TEXT · unknown ID TEXT · deny ID TEXT   results of calls
//	delete · prompt · state
func TestScenarios(t *testing.T) {
	actortest.Files(t, func(t *testing.T, script string) string { return newStage().play(t, script) })
}

// stage is a tiny shell: a clock, a journal position, the fold, and the claims that workers think are theirs.
type stage struct {
	now    time.Time
	cursor uint64
	state  turn.State
	limits turn.Limits
	claims map[string]turn.Turn // the turn as it was when the worker claimed a call of it
	out    strings.Builder
}

func newStage() *stage {
	l := turn.DefaultLimits()
	l.Attempts, l.Rounds = 3, 3
	return &stage{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), limits: l, claims: map[string]turn.Turn{}}
}

func (g *stage) play(t *testing.T, script string) string {
	t.Helper()
	var file strings.Builder
	skip := false
	for line := range strings.Lines(script) {
		switch text := strings.TrimSuffix(line, "\n"); {
		case text == "----":
			skip = true
			file.WriteString("----\n" + g.out.String())
			g.out.Reset()
		case skip && text != "":
		default:
			skip = false
			file.WriteString(text + "\n")
			if text != "" && !strings.HasPrefix(text, "#") {
				g.command(t, text)
			}
		}
	}
	return file.String()
}

func (g *stage) command(t *testing.T, line string) {
	t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	a, text, _ := strings.Cut(rest, " ")
	switch verb {
	case "say", "again":
		id := a
		if verb == "again" {
			id += "-again"
		}
		g.fold(envelope.Event{ID: id, Key: "key of " + a, Body: messagev1.Received{Text: text}})
	case "edit":
		g.fold(envelope.Event{Body: messagev1.Edited{Message: a, Text: text}})
	case "new":
		g.fold(envelope.Event{ID: a, Body: messagev1.Control{Verb: messagev1.New}})
	case "stop":
		g.fold(envelope.Event{ID: a, Body: messagev1.Control{Verb: messagev1.Stop}})
	case "clock":
		d, err := time.ParseDuration(a)
		if err != nil {
			t.Fatal(err)
		}
		g.now = g.now.Add(d)
	case "run":
		g.run(a, text == "gone")
	case "rounds":
		n, err := strconv.Atoi(a)
		if err != nil {
			t.Fatal(err)
		}
		g.limits.Rounds = n
	case "crash":
		delete(g.claims, a)
	case "done", "fail", "step":
		g.fold(envelope.Event{Body: outcome(verb, g.claims[a], text)})
	case "ok", "error", "unknown":
		g.fold(envelope.Event{Body: callv1.Completed{Turn: g.turnID(), Call: a, Outcome: callv1.Outcome(verb), Content: text}})
	case "deny":
		g.fold(envelope.Event{Body: callv1.Denied{Turn: g.turnID(), Call: a, Reason: text}})
	case "delete":
		g.fold(envelope.Event{Body: turnv1.SessionDeleted{By: "x"}})
	case "prompt":
		for _, m := range turn.Prompt(g.state, "You are helpful.", g.limits) {
			fmt.Fprintf(&g.out, "%s\n", compact(m))
		}
	case "state":
		fmt.Fprintf(&g.out, "%s\n", compact(g.state))
	default:
		t.Fatalf("unknown command %q", line)
	}
}

func (g *stage) turnID() string {
	if g.state.Turn == nil {
		return ""
	}
	return g.state.Turn.ID
}

// run asks Next for worker w and appends what it says, until it says something else.
func (g *stage) run(w string, gone bool) {
	for {
		v := machine.View{Now: g.now, Worker: w, Mine: g.claims[w].Claim.Cursor}
		if gone && g.state.Turn != nil {
			v.Gone = g.state.Turn.Claim.Cursor
		}
		switch step := g.state.Next(v, g.limits).(type) {
		case nil:
			fmt.Fprintf(&g.out, "%s: nothing to do\n", w)
			return
		case machine.Append:
			g.fold(envelope.Event{Body: step.Body, Cause: step.Cause})
			fmt.Fprintf(&g.out, "%s: %d %s %s <- %s\n", w, g.cursor, step.Body.EventType(), compact(step.Body), step.Cause)
			if step.Claim {
				g.claims[w] = *g.state.Turn
			}
			gone = false
		case machine.Perform:
			fmt.Fprintf(&g.out, "%s: perform %d\n", w, step.Claim)
			return
		case machine.Held:
			fmt.Fprintf(&g.out, "%s: held by %s, claim %d, attempt %d\n", w, step.Worker, step.Claim, step.Attempt)
			return
		}
	}
}

func (g *stage) fold(ev envelope.Event) {
	g.cursor++
	ev.Cursor, ev.Time = g.cursor, g.now
	if ev.ID == "" {
		ev.ID = fmt.Sprintf("e%d", g.cursor)
	}
	g.state = g.state.Apply(ev)
}

// outcome is what a worker reports of the call that it claimed in c, whatever has become of it.
func outcome(verb string, c turn.Turn, text string) envelope.Body {
	o := turnv1.Outcome{Turn: c.ID, Round: c.Claim.Round, Attempt: c.Claim.Attempt, Usage: turnv1.Usage{Input: 10, Output: 1}}
	switch verb {
	case "done":
		return turnv1.Completed{Outcome: o, Answers: c.Messages, Text: text}
	case "fail":
		return turnv1.Failed{Outcome: o, Answers: c.Messages, Cause: turnv1.ModelRefused, Text: text}
	}
	b := turnv1.Stepped{Outcome: o}
	for f := range strings.FieldsSeq(text) {
		id, tool, _ := strings.Cut(f, "=")
		tool, refusal, _ := strings.Cut(tool, "!")
		b.Calls = append(b.Calls, turnv1.Call{ID: id, Tool: tool, Arguments: json.RawMessage(`{}`), Refusal: refusal})
	}
	return b
}

func compact(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
