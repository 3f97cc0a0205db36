package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// TestScenarios plays testdata/*.txt: blocks of commands, "----", and what they print.
//
//	say ID TEXT · again ID TEXT (the same source key) · edit ID TEXT · ask ID VERB [ARGUMENT] · clock DURATION
//	tell BY TEXT     a program outside says it to the person
//	set NAME VALUE   a rule: mode, cap, full, debounce, rounds, tokens, cost, due, keep, client (1: it is one)
//	run W [gone]     worker W takes steps until it has to perform, is held, waits, or nothing is to be done
//	done W TEXT · fail W TEXT · step W ID=TOOL[!REFUSAL]... · overflow W · summary W TEXT · nosummary W TEXT
//	                 the outcome of the claim that W made last, open or not
//	crash W          W forgets what it claimed
//	ok ID TEXT · error ID TEXT · unknown ID TEXT · timed_out ID TEXT · refused ID TEXT · deny ID TEXT   results of calls
//	await ID · request ID APPROVAL · decide ID · dispatch ID       what becomes of a call that asks a person
//	delete · history (what the model is shown) · state
func TestScenarios(t *testing.T) {
	actortest.Files(t, func(t *testing.T, script string) string { return newStage().play(t, script) })
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
	if g.out.Len() > 0 {
		t.Errorf("printed behind the last block:\n%s", g.out.String())
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
	case "ask":
		what, argument, _ := strings.Cut(text, " ")
		g.fold(envelope.Event{ID: a, Body: messagev1.Control{Verb: messagev1.Verb(what), Argument: argument}})
	case "tell":
		g.fold(envelope.Event{Body: noticev1.Posted{Service: "outbox", By: a, Text: text}})
	case "clock":
		g.now = g.now.Add(duration(t, a))
	case "set":
		g.set(t, a, text)
	case "run":
		g.run(t, a, text == "gone")
	case "crash":
		delete(g.claims, a)
	case "done", "fail", "step", "overflow":
		g.fold(envelope.Event{Body: g.claims[a].outcome(verb, text)})
	case "summary", "nosummary":
		g.fold(envelope.Event{Body: g.claims[a].summary(verb, text)})
	case "await", "request", "decide", "dispatch":
		g.fold(envelope.Event{Body: asking(verb, g.turnID(), a, text)})
	case "ok", "error", "unknown", "timed_out", "refused":
		g.fold(envelope.Event{Body: callv1.Completed{Turn: g.turnID(), Call: a, Outcome: callv1.Outcome(verb), Content: text}})
	case "deny":
		g.fold(envelope.Event{Body: callv1.Denied{Turn: g.turnID(), Call: a, Reason: text}})
	case "delete":
		g.fold(envelope.Event{Body: turnv1.SessionDeleted{By: "x"}})
	case "history":
		g.history()
	case "state":
		fmt.Fprintf(&g.out, "%s\n", compact(g.state))
	default:
		t.Fatalf("unknown command %q", line)
	}
}

// asking is an event on the way of a call that a person decides.
func asking(verb, turnID, call, approval string) envelope.Body {
	request := callv1.Request{Turn: turnID, Call: call}
	switch verb {
	case "await":
		return callv1.Awaiting{Request: request}
	case "request":
		return approvalv1.Requested{Request: request, Approval: approval}
	case "decide":
		return approvalv1.Decided{Ref: approvalv1.Ref{Turn: turnID, Call: call}}
	}
	return callv1.Dispatched{Request: request}
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
