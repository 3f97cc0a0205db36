package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

func TestUnlessPaused(t *testing.T) {
	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.FixedZone("", 3600))
	catalogues := func(until time.Time, reason string) []toolv1.Catalogue {
		return []toolv1.Catalogue{{Executor: "builtin"}, {Executor: "mcp-my-files", Paused: &toolv1.Paused{Until: until, Reason: reason}}}
	}
	to := func(executor string, e call.Effect) call.Verdict {
		return call.Verdict{
			Effect: e, Request: callv1.Request{Call: "c", Executor: executor, Policy: "p"}, Rule: "r", Reason: "why", Shown: "s", Why: []string{"w"},
			Fixed: "f", Grant: "g", Always: &callv1.Approval{ID: "a"},
		}
	}
	later := now.Add(90 * time.Second)
	const told = "the server my-files is paused until 09:01:30Z (%s): nothing is sent to it before. Do it in another way, or try again later"
	for _, c := range []struct {
		name    string
		all     []toolv1.Catalogue
		verdict call.Verdict
		want    string // reason; "" when the verdict stands
	}{
		{"would run", catalogues(later, "3 timeouts"), to("mcp-my-files", call.Run), fmt.Sprintf(told, "3 timeouts")},
		{"would ask", catalogues(later, ""), to("mcp-my-files", call.Ask), fmt.Sprintf(told, "calls to it failed")},
		{"denied anyway", catalogues(later, "x"), to("mcp-my-files", call.Deny), ""},
		{"of another executor", catalogues(later, "x"), to("builtin", call.Run), ""},
		{"of nobody", catalogues(later, "x"), to("", call.Run), ""},
		{"over", catalogues(now, "x"), to("mcp-my-files", call.Run), ""},
		{"a reason of many lines", catalogues(later, "a\r\n\x1b[2Jb\u202e  c"), to("mcp-my-files", call.Run), fmt.Sprintf(told, "a [2Jb c")},
		{"a long reason", catalogues(later, strings.Repeat("é", 500)), to("mcp-my-files", call.Run), fmt.Sprintf(told, strings.Repeat("é", 100)+"…")},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.verdict
			if c.want != "" {
				want = call.Verdict{Effect: call.Deny, Request: c.verdict.Request, Rule: "paused", Reason: c.want}
			}
			if got := unlessPaused(c.all, c.verdict, now); !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestAPausedServer: its calls are answered at once, also one that a person has allowed meanwhile; approvals are not void by it.
func TestAPausedServer(t *testing.T) {
	h := newHouse(t, Config{})
	const s = session.ID("main.http.test.pause")
	h.publish(catalogue())
	h.step(s, "m1/t", asked("c1", "send", `{"n":1}`))
	parked := decided[callv1.Awaiting](h)

	paused := catalogue()
	paused.Paused = &toolv1.Paused{Until: time.Now().Add(time.Hour), Reason: "it does not answer"}
	h.publish(paused)
	h.reread(s)
	judgement, err := bus.Ask[Judged](t.Context(), h.approvals, "tools", "judge", JudgeRequest{
		Session: string(s), Turn: "m1/t", Call: "c1", Tool: "send", Arguments: parked.Arguments,
	})
	if err != nil || judgement.Effect != call.Ask || fmt.Sprint(judgement.Request) != fmt.Sprint(parked.Request) {
		t.Errorf("a person could not allow it now: %+v %v", judgement, err)
	}
	got, err := bus.Ask[Explained](t.Context(), h.approvals, "tools", "explain", ExplainRequest{Calls: []Case{
		{Session: string(s), Tool: "look", Arguments: json.RawMessage(`{}`)}, {Session: string(s), Tool: "look", Arguments: json.RawMessage(`{"n":"x"}`)},
	}})
	if err != nil || len(got.Answers) != 2 || got.Answers[0].Rule != "level L0" || got.Answers[1].Rule != "arguments" {
		t.Fatalf("%+v %v", got, err)
	}
	const told = "paused: it is denied all the same for now: the server builtin is paused until "
	for i, want := range []bool{true, false} {
		if steps := got.Answers[i].Considered; strings.HasPrefix(steps[len(steps)-1], told) != want {
			t.Errorf("%q", steps)
		}
	}
	h.post(h.approvals, s, approvalv1.Decided{
		Ref:    approvalv1.Ref{Approval: "a1", Turn: "m1/t", Call: "c1"},
		Answer: callv1.Approval{ID: "a1", Decision: callv1.AllowAlways, Grant: parked.Grant, By: "local"},
	})
	if b := decided[callv1.Denied](h); b.Call != "c1" || b.Rule != "paused" || b.Approval != "a1" || !strings.Contains(b.Reason, "it does not answer") {
		t.Errorf("%+v", b)
	}
	h.step(s, "m2/t", asked("c1", "look", `{}`), asked("c2", "send", `{"n":2}`), asked("c3", "look", `{"n":"x"}`))
	for _, want := range []string{"paused", "paused", "arguments"} {
		if b := decided[callv1.Denied](h); b.Rule != want || b.Policy == "" {
			t.Errorf("%+v, want it denied by %s", b, want)
		}
	}
	h.publish(catalogue())
	h.reread(s)
	h.step(s, "m3/t", asked("c1", "send", `{"n":1}`)) // what was allowed for always still is
	if b := decided[callv1.Dispatched](h); b.Always == nil || b.Always.ID != "a1" {
		t.Errorf("%+v", b)
	}
}

// reread makes the service read the catalogue: a tool that it does not know may have come just now.
func (h *house) reread(s session.ID) {
	h.t.Helper()
	if _, err := bus.Ask[Judged](h.t.Context(), h.approvals, "tools", "judge", JudgeRequest{Session: string(s), Tool: "none"}); err != nil {
		h.t.Fatal(err)
	}
}
