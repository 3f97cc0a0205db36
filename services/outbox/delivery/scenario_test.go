package delivery_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

// TestScenarios plays testdata/*.txt: blocks of commands, "----", and what they print.
//
//	channel NAME · attempts N · hold · clock DURATION
//	answer ID TEXT · failure ID TEXT · cancel ID · notice ID TEXT · reset [ID TEXT] · delete
//	ask ID TEXT · decide ID TEXT · expire ID TEXT · void ID TEXT · withdraw ID     about the approval "a-ID"
//	run W [gone]     worker W takes steps until it has to perform, is held, waits, or nothing is to be done
//	sent W · defer W DURATION REASON · fail W REASON · cut W     the outcome of the claim that W made last, open or not
//	crash W          W forgets what it claimed
//	state
func TestScenarios(t *testing.T) {
	actortest.Files(t, func(t *testing.T, script string) string { return newStage().play(t, script) })
}

// stage is a tiny shell: a clock, a journal position, the fold, and the claims that workers think are theirs.
type stage struct {
	now     time.Time
	session session.ID
	cursor  uint64
	state   delivery.State
	limits  delivery.Limits
	claims  map[string]claim
	out     strings.Builder
}

type claim struct {
	cursor uint64
	ref    deliveryv1.Ref
}

func newStage() *stage {
	return &stage{now: epoch, session: home, limits: limits(), claims: map[string]claim{}}
}

func (g *stage) play(t *testing.T, script string) string {
	t.Helper()
	var file strings.Builder
	answer := false // within what an earlier run printed
	for line := range strings.Lines(script) {
		switch text := strings.TrimSuffix(line, "\n"); {
		case text == "----":
			answer = true
			file.WriteString(line + g.out.String())
			g.out.Reset()
		case text == "":
			answer = false
			file.WriteString(line)
		case answer:
		default:
			file.WriteString(line)
			if !strings.HasPrefix(text, "#") {
				g.command(t, text)
			}
		}
	}
	if g.out.Len() > 0 {
		t.Fatalf("a block without ----: %s", g.out.String())
	}
	return file.String()
}

func (g *stage) command(t *testing.T, line string) {
	t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	arg, text, _ := strings.Cut(rest, " ")
	switch verb {
	case "channel":
		g.session = session.ID("main." + arg + ".web.anna")
	case "attempts":
		if _, err := fmt.Sscan(arg, &g.limits.Attempts); err != nil {
			t.Fatal(err)
		}
	case "hold":
		g.limits.ResendUnknown = false
	case "clock":
		g.now = g.now.Add(duration(t, arg))
	case "answer":
		g.append(arg, turnv1.Completed{Text: text, Answers: []string{"m-" + arg}})
	case "failure":
		g.append(arg, turnv1.Failed{Text: text, Answers: []string{"m-" + arg}})
	case "cancel":
		g.append(arg, turnv1.Cancelled{Answers: []string{"m-" + arg}})
	case "notice":
		g.append(arg, noticev1.Posted{Service: "tools", Text: text})
	case "ask":
		g.append(arg, approvalv1.Requested{Approval: "a-" + arg, Text: text})
	case "decide":
		g.append(arg, approvalv1.Decided{Ref: approvalv1.Ref{Approval: "a-" + arg}, Text: text, Answers: []string{"d-" + arg}})
	case "expire":
		g.append(arg, approvalv1.Expired{Ref: approvalv1.Ref{Approval: "a-" + arg}, Text: text})
	case "void":
		g.append(arg, approvalv1.Voided{Ref: approvalv1.Ref{Approval: "a-" + arg}, Text: text})
	case "withdraw":
		g.append(arg, approvalv1.Cancelled{Ref: approvalv1.Ref{Approval: "a-" + arg}})
	case "reset":
		g.append(arg, turnv1.SessionReset{By: "c-" + arg, Text: text})
	case "delete":
		g.append("", turnv1.SessionDeleted{})
	case "run":
		g.run(t, arg, text == "gone")
	case "sent":
		g.append("", deliveryv1.Sent{Ref: g.claims[arg].ref})
	case "defer":
		wait, reason, _ := strings.Cut(text, " ")
		g.append("", deliveryv1.Deferred{Ref: g.claims[arg].ref, Until: g.now.Add(duration(t, wait)), Reason: reason})
	case "fail":
		g.append("", deliveryv1.Failed{Ref: g.claims[arg].ref, Reason: text})
	case "cut":
		g.append("", deliveryv1.Unknown{Ref: g.claims[arg].ref, Resend: g.limits.ResendUnknown})
	case "crash":
		delete(g.claims, arg)
	case "state":
		data, err := json.Marshal(g.state)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&g.out, "%s\n", data)
	default:
		t.Fatalf("no command %q", line)
	}
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (g *stage) append(id string, b envelope.Body) {
	g.cursor++
	if id == "" {
		id = fmt.Sprintf("e%d", g.cursor)
	}
	g.state = g.state.Apply(envelope.Event{
		ID: id, Session: g.session, Cursor: g.cursor, Prev: g.cursor - 1, Time: g.now, Body: b,
	})
}

func (g *stage) run(t *testing.T, w string, gone bool) {
	t.Helper()
	for range 20 {
		v := machine.View{Now: g.now, Worker: w, Mine: g.claims[w].cursor}
		if head, ok := g.state.Head(); ok && gone {
			v.Gone = head.Claim
		}
		switch step := g.state.Next(v, g.limits).(type) {
		case nil:
			fmt.Fprintf(&g.out, "%s: nothing to do\n", w)
			return
		case machine.Append:
			g.append("", step.Body)
			data, err := json.Marshal(step.Body)
			if err != nil {
				t.Fatal(err)
			}
			tell := ""
			if step.Tell != "" {
				tell = ", tell " + step.Tell
			}
			fmt.Fprintf(&g.out, "%s: %d %s %s <- %s%s\n", w, g.cursor, step.Body.EventType(), data, step.Cause, tell)
			if b, ok := step.Body.(deliveryv1.Started); ok {
				g.claims[w] = claim{g.cursor, b.Ref}
			}
		case machine.Perform:
			head, _ := g.state.Head()
			fmt.Fprintf(&g.out, "%s: perform %d: send %q, repeat %v\n", w, step.Claim, head.Text, head.Repeat)
			return
		case machine.Held:
			fmt.Fprintf(&g.out, "%s: held by %s, claim %d, attempt %d\n", w, step.Worker, step.Claim, step.Attempt)
			return
		case machine.Wait:
			fmt.Fprintf(&g.out, "%s: wait %s\n", w, step.Until.Sub(g.now))
			return
		}
	}
	t.Fatalf("%s comes to no end: %+v", w, g.state)
}
