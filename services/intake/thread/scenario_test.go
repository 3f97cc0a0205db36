package thread

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// TestScenarios runs testdata/*.txt. A line is a comment (#) or a step; what the step shows follows it, indented by ">".
//
//	send KEY TEXT…        goes through the gate and, unless its key is known, into the journal
//	press KEY VERB ARG…   a command that is no text
//	edit KEY OF TEXT…     OF is the key of the message
//	complete|fail|cancel KEY…   ends a turn that answers these
//	drop KEY…             cancels what waits, without a turn
//	stop BY KEY…          cancels these because BY asks for it
//	oust BY KEY…          cancels these because BY takes their place
//	post SERVICE KEY…     a notice that answers these
//	reset|configure|compact|uncompact KEY   answers a command, the last with a failure
//	step TURN, continue, delete
//	start TURN KEY…       a turn that answers these
//	ask ID TURN           an approval is asked for
//	decide ID TURN KEY…   it is given or denied by the decisions of these
//	expire|withdraw|void ID TURN
//	waits KEY…            the approvals that the answers to these wait for
//	show KEY…             what is known of them
//	restart               goes on from a snapshot
func TestScenarios(t *testing.T) {
	actortest.Files(t, func(t *testing.T, script string) string {
		t.Helper()
		var out strings.Builder
		run := scenario{t: t}
		for line := range strings.Lines(script) {
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, ">") {
				continue
			}
			fmt.Fprintln(&out, line)
			if line != "" && !strings.HasPrefix(line, "#") {
				for _, shown := range run.step(line) {
					fmt.Fprintln(&out, ">", shown)
				}
			}
		}
		return out.String()
	})
}

type scenario struct {
	t     *testing.T
	state State
	last  uint64
}

func (sc *scenario) step(line string) []string {
	f := strings.Fields(line)
	args := f[1:]
	ids := func(keys []string) (out []string) {
		for _, k := range keys {
			out = append(out, MessageID(testSession, k))
		}
		return out
	}
	from := messagev1.Sender{ID: "local"}
	switch f[0] {
	case "send":
		return sc.submit(args[0], Inbound{From: from, Text: strings.Join(args[1:], " ")})
	case "press":
		return sc.submit(args[0], Inbound{From: from, Verb: messagev1.Verb(args[1]), Argument: strings.Join(args[2:], " ")})
	case "edit":
		return sc.submit(args[0], Inbound{From: from, Edits: ids(args[1:2])[0], Text: strings.Join(args[2:], " ")})
	case "complete":
		sc.append("", turnv1.Completed{Answers: ids(args)})
	case "fail":
		sc.append("", turnv1.Failed{Answers: ids(args)})
	case "cancel":
		sc.append("", turnv1.Cancelled{Turn: "t", Answers: ids(args)})
	case "drop":
		sc.append("", turnv1.Cancelled{Answers: ids(args)})
	case "stop":
		sc.append("", turnv1.Cancelled{Turn: "t", Answers: ids(args[1:]), By: ids(args)[0], Reason: turnv1.Stopped})
	case "oust":
		sc.append("", turnv1.Cancelled{Turn: "t", Answers: ids(args[1:]), By: ids(args)[0], Reason: turnv1.Interrupted})
	case "post":
		sc.append("", noticev1.Posted{Service: args[0], Answers: ids(args[1:])})
	case "reset":
		sc.append("", turnv1.SessionReset{By: ids(args)[0]})
	case "configure":
		sc.append("", turnv1.SessionConfigured{By: ids(args)[0]})
	case "compact":
		sc.append("", turnv1.SessionCompacted{By: ids(args)[0]})
	case "uncompact":
		sc.append("", turnv1.CompactionFailed{By: ids(args)[0]})
	case "step":
		sc.append("", turnv1.Stepped{Outcome: turnv1.Outcome{Turn: args[0]}})
	case "continue":
		sc.append("", turnv1.Continued{})
	case "start":
		sc.append("", turnv1.Started{Claim: turnv1.Claim{Turn: args[0], Messages: ids(args[1:])}})
	case "ask":
		sc.append("", approvalv1.Requested{Approval: args[0], Request: callv1.Request{Turn: args[1], Call: "call"}})
	case "decide":
		sc.append("", approvalv1.Decided{Ref: approvalv1.Ref{Approval: args[0], Turn: args[1]}, Answers: ids(args[2:])})
	case "expire":
		sc.append("", approvalv1.Expired{Ref: approvalv1.Ref{Approval: args[0], Turn: args[1]}})
	case "withdraw":
		sc.append("", approvalv1.Cancelled{Ref: approvalv1.Ref{Approval: args[0], Turn: args[1]}})
	case "void":
		sc.append("", approvalv1.Voided{Ref: approvalv1.Ref{Approval: args[0], Turn: args[1]}})
	case "waits":
		return sc.waits(args)
	case "delete":
		sc.append("", turnv1.SessionDeleted{})
	case "restart":
		b, err := json.Marshal(sc.state)
		if err != nil {
			sc.t.Fatal(err)
		}
		sc.state = State{}
		if err := json.Unmarshal(b, &sc.state); err != nil {
			sc.t.Fatal(err)
		}
	case "show":
		return sc.show(args)
	default:
		sc.t.Fatalf("no such step: %s", line)
	}
	return nil
}

func (sc *scenario) submit(key string, in Inbound) []string {
	if it, ok := sc.state.Find(MessageID(testSession, key)); ok {
		return []string{fmt.Sprintf("known: cursor %d, %s", it.Cursor, it.Status)}
	}
	body := Admit(in, Limits{MaxBytes: 32})
	sc.append(MessageID(testSession, key), body)
	shown := fmt.Sprintf("%d %s", sc.last, body.EventType())
	if c, ok := body.(messagev1.Control); ok {
		shown = strings.TrimSpace(fmt.Sprintf("%s: %s %s", shown, c.Verb, c.Argument))
	}
	if d, ok := body.(messagev1.Decision); ok {
		shown = strings.TrimSpace(fmt.Sprintf("%s: %s %s %s", shown, d.Decision, d.Approval, d.Reason))
	}
	if r, ok := body.(messagev1.Refused); ok {
		shown += fmt.Sprintf(" %s: %s", r.Reason, r.Detail)
	}
	return []string{shown}
}

func (sc *scenario) waits(keys []string) (out []string) {
	for _, k := range keys {
		open := sc.state.Approvals(MessageID(testSession, k))
		if len(open) == 0 {
			out = append(out, k+" waits for nobody")
		}
		for _, a := range open {
			out = append(out, fmt.Sprintf("%s waits for %s, asked at %d", k, a.ID, a.Cursor))
		}
	}
	return out
}

func (sc *scenario) append(id string, b envelope.Body) {
	sc.last++
	sc.state = sc.state.Apply(envelope.Event{ID: id, Session: testSession, Cursor: sc.last, Body: b})
}

func (sc *scenario) show(keys []string) (out []string) {
	for _, k := range keys {
		it, ok := sc.state.Find(MessageID(testSession, k))
		if !ok {
			out = append(out, k+" unknown")
			continue
		}
		out = append(out, fmt.Sprintf("%s at %d: %s %d", k, it.Cursor, it.Status, it.Outcome))
	}
	if sc.state.WaitsForCalls() {
		out = append(out, "waits for calls")
	}
	if sc.state.Deleted() {
		out = append(out, "deleted")
	}
	return out
}
