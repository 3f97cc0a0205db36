package gate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

var commands = []string{
	"ls", "git log", "git push", "rm x", "env rm x", "sh -c 'rm x'", "ls; rm x", "$x", "r$y x", "ls (", "git log $(rm x)", "python -c 'x'", "xargs git log", "A=1 ls", "ls > SOUL.md",
}

func rule() *rapid.Generator[Rule] {
	return rapid.Custom(func(t *rapid.T) Rule {
		r := Rule{
			Tool:  rapid.SampledFrom([]string{"*", "run", "exec", "write_file", "fetch", "?lock", "mail", "r*"}).Draw(t, "tool"),
			Agent: rapid.SampledFrom([]string{"", "", "main", "g*"}).Draw(t, "agent"),
		}
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"command", "path", "url", "to", "*", "cc"}), 0, 2, rapid.ID).Draw(t, "args")
		for _, n := range names {
			if r.Args == nil {
				r.Args = map[string]string{}
			}
			r.Args[n] = rapid.SampledFrom([]string{"*", "rm *", "git *", "ls", "*x*", "SOUL.md", "https://*", "a"}).Draw(t, n)
		}
		return r
	})
}

func policy() *rapid.Generator[Policy] {
	return rapid.Custom(func(t *rapid.T) Policy {
		list := rapid.SliceOfN(rule(), 0, 4)
		return Policy{Deny: list.Draw(t, "deny"), Ask: list.Draw(t, "ask"), Allow: list.Draw(t, "allow")}
	})
}

func question(t *rapid.T) call.Question {
	text := rapid.SampledFrom([]string{"a", "x", "SOUL.md", "notes.md", "../x", "https://x/", horse, "ghp_Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4fGh7j", "é\u202e", ""})
	args := map[string]any{}
	tool := rapid.SampledFrom([]string{"clock", "read_file", "write_file", "move", "fetch", "search", "exec", "run", "mail", "odd", "broken", "tunnel", "none"}).Draw(t, "tool")
	switch tool {
	case "exec", "run":
		args["command"] = rapid.SampledFrom(commands).Draw(t, "command")
	case "write_file":
		args["path"], args["content"] = text.Draw(t, "path"), text.Draw(t, "content")
	case "read_file":
		args["path"] = text.Draw(t, "path")
	case "move":
		args["from"], args["to"] = text.Draw(t, "from"), rapid.SliceOfN(text, 0, 2).Draw(t, "to")
	case "fetch":
		args["url"] = text.Draw(t, "url")
	case "search":
		args["query"] = text.Draw(t, "query")
	case "mail":
		args["to"], args["body"], args["cc"] = text.Draw(t, "to"), text.Draw(t, "body"), rapid.SliceOfN(text, 0, 2).Draw(t, "cc")
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return call.Question{
		Session: id(t, rapid.SampledFrom([]string{"main", "guest", "banned", "else"}).Draw(t, "agent")), Turn: "t", Call: "c", Tool: tool, Arguments: raw,
		Taint: call.Taint{Untrusted: rapid.Bool().Draw(t, "untrusted"), Private: rapid.Bool().Draw(t, "private")},
	}
}

// TestRandomVerdicts draws policies and calls, and checks what holds for all of them.
func TestRandomVerdicts(t *testing.T) {
	base, _ := house(t, Policy{})
	with := func(t *rapid.T, p Policy) *Gate {
		g, err := base.With(p)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	rapid.Check(t, func(t *rapid.T) {
		p, q := policy().Draw(t, "policy"), question(t)
		judge := with(t, p).Judge(offered())
		v := judge(q)
		sound(t, v)
		if v.Grant != "" && rapid.Bool().Draw(t, "granted") {
			q.Always = []callv1.Approval{{Decision: callv1.AllowAlways, Grant: v.Grant}}
			v = judge(q)
			sound(t, v)
			if v.Effect != call.Run || v.Rule != "always" {
				t.Fatalf("granted: %+v", v)
			}
		}
		again, steps := with(t, p).Explain(offered(), q)
		if !reflect.DeepEqual(again, v) || len(steps) == 0 {
			t.Fatalf("two verdicts:\n%+v\n%+v", v, again)
		}

		more := p
		more.Deny = append(append([]Rule{}, p.Deny...), rule().Draw(t, "one more"))
		stricter := with(t, more).Judge(offered())(q)
		sound(t, stricter)
		if rank(stricter) < rank(v) {
			t.Fatalf("a rule that denies makes it %s, it was %s", stricter.Effect, v.Effect)
		}
		worse := q
		worse.Taint.Untrusted, worse.Taint.Private = true, true
		if w := judge(worse); rank(w) < rank(v) {
			t.Fatalf("taint makes it %s, it was %s", w.Effect, v.Effect)
		}
		bare := q
		bare.Always = nil
		none := p
		none.Allow = nil
		if w := with(t, none).Judge(offered())(bare); rank(w) < rank(v) {
			t.Fatalf("fewer rules that allow make it %s, it was %s", w.Effect, v.Effect)
		}
		all := p
		all.Deny = append(append([]Rule{}, p.Deny...), Rule{Tool: "*"})
		if w := with(t, all).Judge(offered())(q); w.Effect != call.Deny {
			t.Fatalf("deny * comes to %+v", w)
		}
		open := p
		open.Allow = append(append([]Rule{}, p.Allow...), Rule{Tool: "*"})
		if w := with(t, open).Judge(offered())(bare); w.Effect == call.Run && (w.Request.Level == toolv1.L3 || judge(bare).Effect == call.Deny) {
			t.Fatalf("allow * comes to %+v", w)
		}
	})
}

func rank(v call.Verdict) int {
	return map[call.Effect]int{call.Run: 0, call.Ask: 1, call.Deny: 2}[v.Effect]
}

// TestRandomArguments gives the gate what no model should write.
func TestRandomArguments(t *testing.T) {
	g, _ := house(t, Policy{Deny: []Rule{{Tool: "*", Args: map[string]string{"*": "?*?"}}}})
	judge := g.Judge(offered())
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(rapid.String().Draw(t, "text"))
		if err != nil {
			t.Fatal(err)
		}
		tool := rapid.SampledFrom([]string{"exec", "write_file", "fetch", "move", "\x00", ""}).Draw(t, "tool")
		raw := rapid.SampledFrom([]string{`{"command":%s}`, `{"path":%s,"content":%[1]s}`, `{"url":%s}`, `{"from":%s,"to":[%[1]s]}`, `%s`, `{%s:1}`, `%s}`}).Draw(t, "form")
		sound(t, judge(call.Question{Session: id(t, "main"), Tool: tool, Arguments: json.RawMessage(fmt.Sprintf(raw, text))}))
	})
}

// TestManyAtOnce judges with one gate from many goroutines.
func TestManyAtOnce(t *testing.T) {
	g, dir := house(t, Policy{Ask: []Rule{{Tool: "clock"}}})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 20 {
				c := offered()
				c[0].Endpoint = fmt.Sprint(i, n%3)
				v := g.Judge(c)(call.Question{Session: "main.a.b.c", Tool: "fetch", Arguments: json.RawMessage(`{"url":1}`)})
				if v.Effect != call.Deny || callv1.PolicyChange(g.Version("main"), v.Request.Policy) != "" {
					t.Errorf("%+v", v)
				}
				g.prompts.private(dir)
			}
		})
	}
	all.Wait()
}

func BenchmarkJudge(b *testing.B) {
	g, err := New(Config{Agents: map[string]Agent{"main": {Workspace: b.TempDir()}}, Secrets: []string{horse}})
	if err != nil {
		b.Fatal(err)
	}
	c := offered()
	q := call.Question{Session: "main.a.b.c", Tool: "fetch", Arguments: json.RawMessage(`{"url":"https://example.org/a?b=c"}`)}
	b.ReportAllocs()
	for b.Loop() {
		g.Judge(c)(q)
	}
}
