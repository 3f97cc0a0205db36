package cli

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

func TestPolicyExplain(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+`
agents: {main: {}, small: {tools: {allow: [now]}}}
policy:
  deny: [{tool: write_file, args: {path: "secret*"}, reason: "nobody writes \e[31msecrets"}]
  ask:  [{tool: now, agent: small}]
`)
	explain := func(code int, args ...string) (x explained) {
		t.Helper()
		r := u.run(append([]string{"policy", "explain", "--json"}, args...)...)
		r.want(t, code)
		if err := json.Unmarshal([]byte(r.stdout), &x); err != nil || len(x.Considered) == 0 {
			t.Errorf("%v: %s", err, r.stdout)
		}
		return x
	}
	if x := explain(0, "now"); x.Effect != call.Run || x.Rule != "level L0" || x.Agent != "main" || x.Level != 0 || x.Executor != "builtin" || x.Why == nil {
		t.Errorf("%+v", x)
	}
	if x := explain(3, "now", "{}", "--agent", "small"); x.Effect != call.Ask || x.Rule != "policy.ask[0]" || x.Shown != "now" || x.Always == "" {
		t.Errorf("%+v", x)
	}
	if x := explain(1, "web_fetch", `{"url": "https://example.org"}`, "--session", "small.http.x.y"); x.Effect != call.Deny || x.Rule != "tools.allow" || x.Agent != "small" {
		t.Errorf("%+v", x)
	}
	if x := explain(0, "web_fetch", `{"url": "https://example.org"}`, "--taint", "untrusted"); x.Effect != call.Run {
		t.Errorf("%+v", x)
	}
	if x := explain(3, "web_fetch", `{"url": "https://example.org"}`, "--taint", "untrusted,private", "--session", "x"); x.Rule != "trifecta" || x.Always != "" {
		t.Errorf("%+v", x)
	}
	if x := explain(1, "now", "[1]"); x.Rule != "arguments" || string(x.Arguments) != "null" {
		t.Errorf("%+v", x)
	}
	r := u.run("policy", "explain", "write_file", `{"path": "secrets.txt", "content": "x"}`)
	r.want(t, 1)
	for _, want := range []string{"effect  deny\nrule    policy.deny[0]\nreason  nobody writes [31msecrets\n", "\nwhat was considered:\n- tool write_file: offered by builtin\n"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%q", want, r.stdout)
		}
	}
	r = u.run("policy", "explain", "write_file", `{"path": "USER.md", "content": "x"}`)
	r.want(t, 3)
	for _, want := range []string{"effect  ask a person\n", "always  would hold for write_file", "\nwhy the person is asked:\n- ", "\nwhat is shown:\n│ write_file\n│ content: x\n"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	u.write("other.yaml", "policy: {allow: [{tool: write_file}]}\n")
	u.run("policy", "explain", "write_file", `{"path": "USER.md", "content": "x"}`, "--config", filepath.Join(u.home, "other.yaml")).want(t, 0)
	u.write("wrong.yaml", "polcy: {}\n")
	u.run("policy", "explain", "now", "--config", filepath.Join(u.home, "wrong.yaml")).want(t, 10, "wrong.yaml:1:1", "polcy")
	if n := len(u.journal()); n != 0 {
		t.Errorf("it has left %d events", n)
	}
}

const policyCases = `
- name: prompts are protected
  tool: write_file
  args: {path: AGENTS.md, content: x}
  want: ask
  rule: level L2
- tool: web_fetch
  args: {url: "https://example.org/?q=x"}
  taint: [untrusted, private]
  want: ask
- tool: web_fetch
  args: {url: "https://example.org/?q=x"}
  taint: untrusted
  want: run
- tool: read_file
  args: {path: a.txt, limit: 3}
  session: work
  want: run
- tool: now
  want: run
`

func TestPolicyTest(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	file := filepath.Join(u.home, "cases.yaml")
	u.write("cases.yaml", policyCases)
	if r := u.run("policy", "test", file); r.code != 0 || r.stdout != "5 cases, 0 failed\n" {
		t.Errorf("%+v", r)
	}
	r := u.runIn(policyCases+"- {name: n, tool: now, want: deny}\n- {tool: now, want: run, rule: level L1}\n", "policy", "test", "-")
	if r.code != 1 || r.stdout != "case 6, n: now\n  want deny\n  got  run by level L0\ncase 7, now\n  want run by level L1\n  got  run by level L0\n7 cases, 2 failed\n" {
		t.Errorf("%+v", r)
	}
	r = u.runIn(`[{"tool": "now", "args": {}, "taint": ["none"], "want": "run"}, {"tool": "nwo", "want": "run"}]`, "policy", "test", "-", "--json")
	var got tested
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || r.code != 1 || got.Cases != 2 || got.Failed != 1 || !got.Results[0].OK ||
		got.Results[1].Case != 2 || got.Results[1].Rule != "unknown tool" || got.Results[1].Got != call.Deny || got.Results[1].Reason == "" {
		t.Errorf("%v %+v", err, r)
	}
	for text, want := range map[string]string{
		"":                                     "has no cases",
		"[]":                                   "has no cases",
		"- {tool: now, goal: run}":             `-:1:15: unknown field "goal"`,
		`[{"tool": "now", "goal": "run"}]`:     `unknown field "goal"`,
		"- {tool: now}":                        `case 1: want: "" has to be run, ask or deny`,
		"- {want: run}":                        "case 1: tool is missing",
		"- {tool: now, want: run, taint: tin}": `case 1: taint "tin"`,
		"- {tool: now, want: run, agent: x}":   `case 1: there is no agent "x"`,
		"tool: now":                            "-:1:",
	} {
		code := 2
		if strings.HasPrefix(want, "has no") {
			code = 1
		}
		u.runIn(text, "policy", "test", "-").want(t, code, want)
	}
}

// TestManyPolicyCases: more than one question of the bus takes.
func TestManyPolicyCases(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	var b strings.Builder
	for range 1500 {
		b.WriteString("- {tool: now, want: run}\n")
	}
	long := strings.Repeat("<x>\n", 20_000)
	list, err := json.Marshal([]map[string]any{{"tool": "write_file", "args": map[string]any{"path": "a", "content": long}, "want": "run"}})
	if err != nil {
		t.Fatal(err)
	}
	if r := u.runIn(b.String(), "policy", "test", "-"); r.code != 0 || r.stdout != "1500 cases, 0 failed\n" {
		t.Errorf("%+v", r)
	}
	if r := u.runIn(string(list), "policy", "test", "-"); r.code != 0 {
		t.Errorf("%+v", r)
	}
}

func TestPolicyDryRun(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	u.run("chat", "!tool now {}").want(t, 0)
	v := u.parked(asksFor)
	u.run("approvals", "approve", v.Approval).want(t, 0)
	if r := u.run("policy", "dry-run", "--exit-code"); r.code != 0 || !strings.HasPrefix(r.stdout, "2 calls compared with the policy of "+u.home) ||
		!strings.HasSuffix(r.stdout, ": 2 the same, 0 otherwise\n") {
		t.Errorf("%+v", r)
	}
	// The home's file is read as it is now, and another on demand.
	u.write("jetclaw.yaml", offlineYAML+"policy: {allow: [{tool: write_file}], deny: [{tool: now, reason: no clock}]}\n")
	r := u.run("policy", "dry-run")
	if r.code != 0 || !strings.Contains(r.stdout, "write_file  ask → run   policy.allow[0]\n") || !strings.Contains(r.stdout, "now         run → deny  policy.deny[0]\n") ||
		!strings.HasSuffix(r.stdout, ": 0 the same, 2 otherwise (1 ask → run, 1 run → deny)\n") {
		t.Errorf("%+v", r)
	}
	r = u.run("policy", "dry-run", "--exit-code", "--json")
	var got dryRan
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || r.code != 1 || got.Compared != 2 || len(got.Differences) != 2 || got.Changes["ask → run"] != 1 {
		t.Fatalf("%v %+v", err, r)
	}
	if d := got.Differences[0]; d.Tool != "now" || d.Then != call.Run || d.Now != call.Deny || d.ThenRule != "level L0" || d.Reason != "no clock" || d.Cursor == 0 {
		t.Errorf("%+v", d)
	}
	u.write("none.yaml", "")
	if r := u.run("policy", "dry-run", "--exit-code", "--config", filepath.Join(u.home, "none.yaml")); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if r := u.run("policy", "dry-run", "--exit-code", "--since", "100000"); r.code != 0 || !strings.HasPrefix(r.stdout, "0 calls compared") {
		t.Errorf("%+v", r)
	}
}

// TestReplayedCalls: each call once, at its first decision, with what its session had read by then.
func TestReplayedCalls(t *testing.T) {
	t.Parallel()
	var got []string
	r := replayed{states: map[session.ID]call.State{}, judge: func(batch []pastCall) error {
		for _, p := range batch {
			got = append(got, strings.Join([]string{
				string(p.Session), p.Call, p.Tool, string(p.arguments), string(p.Then), taints(p.taint.Untrusted, p.taint.Private),
			}, " "))
		}
		return nil
	}}
	step := func(turn string, ids ...string) envelope.Body {
		b := turnv1.Stepped{Outcome: turnv1.Outcome{Turn: turn}}
		for _, id := range ids {
			b.Calls = append(b.Calls, turnv1.Call{ID: id, Tool: "T" + id, Arguments: json.RawMessage(`{"of":"` + id + `"}`)})
		}
		return b
	}
	req := func(turn, id string) callv1.Request {
		return callv1.Request{Turn: turn, Call: id, Tool: "T" + id, Arguments: json.RawMessage(`{"of":"` + id + `"}`)}
	}
	person := &callv1.Approval{ID: "x"}
	when := time.Unix(1000, 0)
	for i, e := range []struct {
		in   session.ID
		body envelope.Body
	}{
		{"s", step("t", "a", "b", "c", "d")},
		{"s", callv1.Dispatched{Request: req("t", "a")}},
		{"s", callv1.Awaiting{Request: req("t", "b")}},
		{"s", callv1.Completed{Turn: "t", Call: "a", Untrusted: true}},
		{"s", callv1.Dispatched{Request: req("t", "b"), Approval: person}}, // was counted as a question
		{"s", callv1.Dispatched{Request: req("t", "c"), Always: person}},
		{"s", callv1.Denied{Turn: "t", Call: "d"}},
		{"o", step("u", "a")},
		{"o", callv1.Denied{Turn: "u", Call: "a"}},
		{"s", callv1.Completed{Turn: "t", Call: "b", Private: true}},
		{"s", callv1.Completed{Turn: "t", Call: "c"}},
		{"s", step("t", "e", "f")},
		{"s", callv1.Awaiting{Request: req("t", "e")}},
		{"s", callv1.Denied{Turn: "t", Call: "e", Approval: "y"}}, // the person said no
		{"s", envelope.Unknown{Type: "call.dispatched.v1", Err: errors.New("its body is gone")}},
		{"s", envelope.Unknown{Type: "call.completed.v1", Err: errors.New("its body is gone")}},
		{"s", turnv1.Completed{Outcome: turnv1.Outcome{Turn: "t"}}},
		{"s", turnv1.SessionReset{}},
		{"s", step("v", "g")},
		{"s", callv1.Dispatched{Request: req("v", "g")}},
	} {
		if err := r.see(envelope.Event{Session: e.in, Cursor: uint64(i + 1), Time: when, Body: e.body}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.flush(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`s a Ta {"of":"a"} run `, `s b Tb {"of":"b"} ask `, `s c Tc {"of":"c"} ask untrusted`, `s d Td {"of":"d"} deny untrusted`,
		`o a Ta {"of":"a"} deny `, `s e Te {"of":"e"} ask untrusted, private`, `s g Tg {"of":"g"} run `,
	}
	if !slices.Equal(got, want) || r.lost != 1 {
		t.Errorf("lost %d\n%s\nwant\n%s", r.lost, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, kept := r.states["o"]; kept {
		t.Error("a session of which nothing is to be remembered is kept")
	}
}

func TestToolsList(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	r := u.run("tools", "list")
	r.want(t, 0)
	for _, want := range []string{"\nweb_fetch ", " L0     chosen  yes     untrusted  builtin   ", "\nwrite_file ", " L1     -       no      -          builtin   "} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	if strings.Contains(r.stdout, "\nexec ") {
		t.Error("exec is offered without being switched on")
	}
	r = u.run("tools", "list", "--json")
	var got toolList
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(got.Tools, func(e toolEntry) bool { return e.Name == "web_fetch" })
	if i < 0 {
		t.Fatalf("%+v", got)
	}
	if e := got.Tools[i]; e.Executor != "builtin" || e.Egress != "chosen" || !e.Repeatable || !e.Untrusted || e.Private || e.Timeout <= 0 || e.Description == "" || !json.Valid(e.Schema) {
		t.Errorf("%+v", e)
	}
}

func TestCasesOfAgents(t *testing.T) {
	t.Parallel()
	c := config.Default()
	both := "untrusted,private"
	for name, x := range map[string]struct {
		in    policyCase
		in2   string
		taint *call.Taint
	}{
		"nothing":        {policyCase{}, "main.terminal.local.policy", &call.Taint{}},
		"a session":      {policyCase{Session: "work"}, "main.terminal.local.work", nil},
		"with its taint": {policyCase{Session: "work", Taint: &both}, "main.terminal.local.work", &call.Taint{Untrusted: true, Private: true}},
		"an agent":       {policyCase{Agent: "main", Taint: &both}, "main.terminal.local.policy", &call.Taint{Untrusted: true, Private: true}},
	} {
		got, err := x.in.asCase(c)
		if err != nil || got.Session != x.in2 || (got.Taint == nil) != (x.taint == nil) || got.Taint != nil && *got.Taint != *x.taint {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
