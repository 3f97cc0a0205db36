package tools

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const somebody = session.ID("main.http.test.one")

// rules are a gate that decides by the name of the tool and by a policy that changes with time.
type rules struct {
	began time.Time
	lasts time.Duration // of one version of the policy; 0: for ever
}

func (r rules) version(at time.Time) string {
	if r.lasts == 0 {
		return "p0"
	}
	return fmt.Sprint("p", int(at.Sub(r.began)/r.lasts))
}

// held says whether a version was in force not long before a time: an append may take that long.
func (r rules) held(version string, at time.Time) bool {
	for back := time.Duration(0); back < 20*time.Second; back += time.Second {
		if r.version(at.Add(-back)) == version {
			return true
		}
	}
	return false
}

func (r rules) judge(q call.Question) call.Verdict {
	v := call.Verdict{Request: callv1.Request{
		Turn: q.Turn, Call: q.Call, Index: q.Index, Tool: q.Tool, Executor: "builtin", Arguments: q.Arguments,
		Digest: canonical.Digest(q.Arguments), ToolDigest: "t", Policy: r.version(time.Now()),
	}}
	switch q.Tool {
	case "run":
		v.Effect = call.Run
	case "ask":
		v.Effect = call.Ask
	default:
		v.Effect, v.Reason = call.Deny, "no"
	}
	return v
}

// TestHistories runs the gate's machine in the shell, with people and executors that answer, late, twice or never: several
// workers, lost acks, late acks, duplicates, reordering, conflicts, a crash or a stop at every step.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"run", "ask", "ask", "deny", "refused", "answered"}), 1, 4), 1, 3).Draw(rt, "steps")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 8000), len(steps), len(steps)).Draw(rt, "gaps")
		ends := rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "cancelled", "reset", "deleted"}), len(steps), len(steps)).Draw(rt, "ends")
		answers := rapid.SliceOfN(rapid.SampledFrom([]string{"allow", "allow", "always", "deny", "expire", "void", "edit", "never"}), 1, 5).Draw(rt, "answers")
		waits := rapid.SliceOfN(rapid.IntRange(0, 60_000), 1, 5).Draw(rt, "waits")
		lasts := time.Duration(rapid.SampledFrom([]int{0, 0, 3, 20}).Draw(rt, "policy lasts")) * time.Second
		asked := 0
		sc := actortest.Scenario[call.State]{
			Spec: Spec(), Workers: rapid.IntRange(1, 3).Draw(rt, "workers"), Tape: actortest.Tape(rt),
			Script: func(w *actortest.World) {
				for i, calls := range steps {
					w.Post(somebody, stepped(i, calls), fmt.Sprint("step", i))
					time.Sleep(time.Duration(gaps[i]) * time.Millisecond)
					switch ends[i] {
					case "cancelled":
						w.Post(somebody, turnv1.Cancelled{Turn: turnOf(i), By: "x"}, fmt.Sprint("end", i))
					case "reset":
						w.Post(somebody, turnv1.SessionReset{By: "x"}, fmt.Sprint("end", i))
					case "deleted":
						w.Delete(somebody, turnv1.SessionDeleted{By: "x"}, fmt.Sprint("end", i))
					}
				}
			},
			React: func(e envelope.Event) []actortest.Reaction {
				n := asked
				asked++
				after := time.Duration(waits[n%len(waits)]) * time.Millisecond
				switch b := e.Body.(type) {
				case callv1.Dispatched:
					return []actortest.Reaction{{After: after, Key: "done" + e.ID, Twice: true, Body: callv1.Completed{
						Executor: "builtin", Turn: b.Turn, Call: b.Call, Outcome: callv1.OK, Untrusted: true,
					}}}
				case callv1.Awaiting:
					if body := answer(b.Request, answers[n%len(answers)]); body != nil {
						late := answer(b.Request, answers[(n+1)%len(answers)]) // of somebody who does not know of the first
						if late == nil {
							late = body
						}
						return []actortest.Reaction{
							{After: after, Key: "answer" + e.ID, Twice: true, Body: body},
							{After: after + time.Second, Key: "late" + e.ID, Body: late},
						}
					}
				}
				return nil
			},
		}
		var verdict error
		synctest.Test(t, func(*testing.T) {
			r := rules{began: time.Now(), lasts: lasts}
			sc.Machine = actor.Machine[call.State]{
				Service: Spec().Name, Version: call.Version, Apply: call.State.Apply,
				Next: func(s call.State, v machine.View) machine.Step { return s.Next(v, r.judge) },
			}
			sc.Check = func(_ session.ID, events []envelope.Event, _ call.State) error { return r.check(events) }
			verdict = actortest.Run(sc)
		})
		if verdict != nil {
			rt.Fatal(verdict)
		}
	})
}

func turnOf(step int) string { return fmt.Sprint("m", step, "/t") }

func stepped(step int, tools []string) turnv1.Stepped {
	b := turnv1.Stepped{Outcome: turnv1.Outcome{Turn: turnOf(step)}}
	for i, tool := range tools {
		c := turnv1.Call{ID: fmt.Sprint("c", i), Tool: tool, Arguments: json.RawMessage(`{"n":1}`)}
		switch tool {
		case "refused":
			c.Refusal = "there is no such tool"
		case "answered":
			c.Answer = "a skill"
		}
		b.Calls = append(b.Calls, c)
	}
	return b
}

func answer(r callv1.Request, how string) envelope.Body {
	ref := approvalv1.Ref{Approval: "a" + r.Call, Turn: r.Turn, Call: r.Call}
	a := callv1.Approval{ID: ref.Approval, Decision: callv1.AllowOnce, By: "local"}
	switch how {
	case "always":
		a.Decision, a.Grant = callv1.AllowAlways, "g"
	case "deny":
		a.Decision = callv1.Deny
	case "expire":
		return approvalv1.Expired{Ref: ref}
	case "void":
		return approvalv1.Voided{Ref: ref, Reason: "changed"}
	case "edit":
		edited := r
		edited.Arguments = json.RawMessage(`{"n":2}`)
		edited.Digest = canonical.Digest(edited.Arguments)
		return approvalv1.Decided{Ref: ref, Answer: a, Edited: &edited}
	case "never":
		return nil
	}
	return approvalv1.Decided{Ref: ref, Answer: a}
}

// check reads the journal without the machine's help: each call that left its turn is decided once, in time, and as
// the rules and the person have it.
func (r rules) check(events []envelope.Event) error {
	type fate struct {
		tool      string
		asked     *callv1.Request
		allowed   bool
		refused   bool
		done      bool
		cancelled bool
		want      *callv1.Request // what may be dispatched
	}
	fates := map[string]*fate{}
	var order []string
	for _, e := range events {
		switch b := e.Body.(type) {
		case turnv1.Stepped:
			for _, c := range b.Calls {
				if c.Refusal == "" && c.Answer == "" {
					fates[b.Turn+c.ID] = &fate{tool: c.Tool}
					order = append(order, b.Turn+c.ID)
				}
			}
		case turnv1.Cancelled:
			for key, f := range fates {
				if len(key) > len(b.Turn) && key[:len(b.Turn)] == b.Turn {
					f.cancelled = true
				}
			}
		case callv1.Awaiting:
			f := fates[b.Turn+b.Call]
			if f == nil || f.tool != "ask" || f.asked != nil || f.done || f.cancelled {
				return fmt.Errorf("event %d: %s is asked about, %+v", e.Cursor, b.Call, f)
			}
			asked := b.Request
			f.asked, f.want = &asked, &asked
		case approvalv1.Decided:
			if f := fates[b.Turn+b.Call]; f != nil && f.asked != nil && !f.refused && !f.allowed {
				f.allowed, f.refused = b.Answer.Decision.Allows(), !b.Answer.Decision.Allows()
				if b.Edited != nil && f.allowed {
					f.want = b.Edited
				}
			}
		case approvalv1.Expired:
			if f := fates[b.Turn+b.Call]; f != nil && !f.allowed {
				f.refused = true
			}
		case approvalv1.Voided:
			if f := fates[b.Turn+b.Call]; f != nil && !f.allowed {
				f.refused = true
			}
		case callv1.Dispatched:
			f := fates[b.Turn+b.Call]
			switch {
			case f == nil || f.done || f.cancelled || f.refused:
				return fmt.Errorf("event %d: %s is dispatched, %+v", e.Cursor, b.Call, f)
			case f.tool == "ask" && (!f.allowed || b.Approval == nil || b.Digest != f.want.Digest || b.Policy != f.want.Policy):
				return fmt.Errorf("event %d: %s is dispatched without being allowed, %+v", e.Cursor, b.Call, f)
			case !r.held(b.Policy, e.Time):
				return fmt.Errorf("event %d: %s is dispatched by the policy %s, which is no longer in force", e.Cursor, b.Call, b.Policy)
			case f.tool != "ask" && f.tool != "run":
				return fmt.Errorf("event %d: a call of %s is dispatched", e.Cursor, f.tool)
			}
			f.done = true
		case callv1.Denied:
			f := fates[b.Turn+b.Call]
			if f == nil || f.done || f.cancelled || f.tool == "run" || b.Reason == "" {
				return fmt.Errorf("event %d: %s is denied, %+v, %s", e.Cursor, b.Call, f, b.Reason)
			}
			f.done = true
		}
	}
	newest := ""
	for _, e := range events {
		if b, ok := e.Body.(turnv1.Stepped); ok {
			newest = b.Turn
		}
	}
	for _, key := range order {
		f := fates[key]
		waits := f.asked != nil && !f.allowed && !f.refused
		if !f.done && !f.cancelled && !waits && key[:len(newest)] == newest { // an earlier step was overtaken by the script
			return fmt.Errorf("nothing is decided about %s: %+v", key, f)
		}
	}
	return nil
}
