package gate

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

const horse = "correct-horse-battery"

func object(required, properties string) json.RawMessage {
	return json.RawMessage(`{"type":"object","additionalProperties":false,"required":[` + required + `],"properties":{` + properties + `}}`)
}

// offered are tools of every kind.
func offered() []toolv1.Catalogue {
	text := func(name string) string { return `"` + name + `":{"type":"string"}` }
	return []toolv1.Catalogue{
		{Executor: "builtin", Tools: []toolv1.Tool{
			{Name: "clock", Schema: object("", text("zone"))},
			{Name: "read_file", Schema: object(`"path"`, text("path")), Paths: []string{"path"}},
			{
				Name: "write_file", Schema: object(`"path","content"`, text("path")+","+text("content")), Level: toolv1.L1, Paths: []string{"path"},
				Writes: true, Fixes: []string{"path"},
			},
			{
				Name: "move", Schema: object(`"from","to"`, text("from")+`,"to":{"type":"array","items":{"type":"string"}}`), Level: toolv1.L1,
				Paths: []string{"from", "to"}, Writes: true,
			},
			{Name: "fetch", Schema: object(`"url"`, text("url")+`,"headers":{"type":"object"}`), Egress: toolv1.Chosen, Untrusted: true},
			{Name: "search", Schema: object(`"query"`, text("query")), Egress: toolv1.Fixed},
			{Name: "exec", Schema: object(`"command"`, text("command")), Level: toolv1.L3, Shell: "command", Egress: toolv1.Chosen},
		}},
		{Executor: "mcp", Endpoint: "https://mcp.example/x", Tools: []toolv1.Tool{
			{Name: "run", Schema: object(`"command"`, text("command")+`,"cwd":{"type":"string"}`), Level: toolv1.L2, Shell: "command", Fixes: []string{"cwd"}},
			{Name: "mail", Schema: object(`"to","body"`, text("to")+","+text("body")+`,"cc":{"type":"array","items":{"type":"string"}}`), Level: toolv1.L2, Fixes: []string{"to", "cc"}},
			{Name: "odd", Schema: object("", ""), Level: 7},
			{Name: "broken", Schema: json.RawMessage(`{"type":`)},
			{Name: "tunnel", Schema: object("", ""), Egress: "hyperspace"},
		}},
	}
}

func id(t interface{ Fatal(...any) }, agent string) session.ID {
	s, err := session.New(agent, "terminal", "local", "me")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// house is a gate with a workspace in which nothing is private yet.
func house(t *testing.T, p Policy) (*Gate, string) {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("notes.md", "hello")
	put("SOUL.md", "calm")
	put("secret/plan.md", "x")
	put("skills/a/SKILL.md", "do")
	for link, to := range map[string]string{"link.md": "SOUL.md", "tools": "skills", "out": "/etc", "later.md": "USER.md"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "SOUL.md"), filepath.Join(dir, "hard.md")); err != nil {
		t.Fatal(err)
	}
	g, err := New(Config{
		Policy: p,
		Agents: map[string]Agent{
			"main": {Workspace: dir}, "guest": {Allow: []string{"clock", "read_*"}, Deny: []string{"read_mail"}, Workspace: dir},
			"banned": {Deny: []string{"*"}}, "outside": {Client: true}, "reader": {Client: true, Allow: []string{"read_*", "odd"}},
			"fetcher": {Client: true, Allow: []string{"fetch"}},
		},
		Private: []string{"secret/"},
		Secrets: []string{horse},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g, dir
}

func judged(t *testing.T, g *Gate, tool, args string, taint call.Taint) call.Verdict {
	t.Helper()
	return g.Judge(offered())(call.Question{
		Session: id(t, "main"), Turn: "t1", Call: "c1", Index: 2, Tool: tool, Arguments: json.RawMessage(args), Taint: taint,
	})
}

var (
	untrusted = call.Taint{Untrusted: true}
	both      = call.Taint{Untrusted: true, Private: true}
)

func TestVerdicts(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString
	policy := Policy{
		Deny: []Rule{
			{Tool: "fetch", Args: map[string]string{"url": "https://evil.example/*"}, Reason: "that host is not for us"},
			{Tool: "write_file", Args: map[string]string{"path": "secret/*"}},
			{Tool: "*", Args: map[string]string{"command": "rm *"}},
			{Tool: "mail", Args: map[string]string{"cc": "*@evil.example"}},
			{Tool: "fetch", Args: map[string]string{"headers.X-Mode": "admin"}},
			{Tool: "search", Args: map[string]string{"*": "*forbidden*"}, Agent: "main"},
			{Tool: "search", Args: map[string]string{"query": "*"}, Agent: "other"},
		},
		Ask: []Rule{
			{Tool: "clock", Args: map[string]string{"zone": "Mars/*"}, Reason: "Nobody is there."},
			{Tool: "run", Args: map[string]string{"command": "git push*"}},
		},
		Allow: []Rule{
			{Tool: "run", Args: map[string]string{"command": "git *"}},
			{Tool: "run", Args: map[string]string{"command": "ls"}},
			{Tool: "run", Args: map[string]string{"command": "env *"}},
			{Tool: "run", Args: map[string]string{"command": "sh *"}},
			{Tool: "run", Args: map[string]string{"command": "python3 *"}},
			{Tool: "mail", Args: map[string]string{"to": "boss@example.org", "cc": "*@example.org"}},
			{Tool: "exec"},
			{Tool: "write_file", Args: map[string]string{"path": "skills/*"}},
		},
	}
	g, dir := house(t, policy)
	for _, c := range []struct {
		tool, args string
		taint      call.Taint
		want       string // effect and rule
	}{
		{"clock", ``, call.Taint{}, "run level L0"},
		{"clock", `{}`, both, "run level L0"},
		{"clok", `{}`, call.Taint{}, "deny unknown tool"},
		{"clock", `{"zone":1}`, call.Taint{}, "deny arguments"},
		{"clock", `{"zone":"a","zone":"b"}`, call.Taint{}, "deny arguments"},
		{"clock", `[]`, call.Taint{}, "deny arguments"},
		{"clock", `null`, call.Taint{}, "deny arguments"},
		{"clock", `{"zone":"Mars/Base"}`, call.Taint{}, "ask policy.ask[0]"},
		{"broken", `{}`, call.Taint{}, "deny arguments"},
		{"odd", `{}`, call.Taint{}, "deny level"},

		{"fetch", `{"url":"https://good.example/"}`, call.Taint{}, "run level L0"},
		{"fetch", `{"url":"https://evil.example/x"}`, call.Taint{}, "deny policy.deny[0]"},
		{"fetch", `{"url":"HTTPS://EVIL.example:443/x"}`, call.Taint{}, "deny policy.deny[0]"},
		{"fetch", `{"url":"https://good@evil.example./x"}`, call.Taint{}, "deny policy.deny[0]"},
		{"fetch", `{"url":"https://evil%2Eexample/x"}`, call.Taint{}, "deny policy.deny[0]"},
		{"fetch", `{"url":"https://evil.example"}`, call.Taint{}, "deny policy.deny[0]"},
		{"fetch", `{"url":"x","headers":{"X-Mode":"admin"}}`, call.Taint{}, "deny policy.deny[4]"},
		{"search", `{"query":"the forbidden word"}`, call.Taint{}, "deny policy.deny[5]"},
		{"search", `{"query":"x"}`, both, "run level L0"},

		{"fetch", `{"url":"https://good.example/"}`, untrusted, "run level L0"},
		{"fetch", `{"url":"https://good.example/"}`, call.Taint{Private: true}, "run level L0"},
		{"fetch", `{"url":"https://good.example/"}`, both, "ask trifecta"},
		{"tunnel", `{}`, both, "ask trifecta"},

		{"read_file", `{"path":"../../etc/passwd"}`, call.Taint{}, "run level L0"}, // the executor refuses it
		{"write_file", `{"path":"notes.md","content":"x"}`, call.Taint{}, "run level L1"},
		{"write_file", `{"path":"secret/plan.md","content":"x"}`, call.Taint{}, "deny policy.deny[1]"},
		{"write_file", `{"path":"a/../secret/./plan.md","content":"x"}`, call.Taint{}, "deny policy.deny[1]"},
		{"write_file", `{"path":"` + dir + `/secret/plan.md","content":"x"}`, call.Taint{}, "deny policy.deny[1]"},
		{"write_file", `{"path":"SOUL.md","content":"x"}`, call.Taint{}, "ask level L2"},
		{"write_file", `{"path":"./a/../soul.MD","content":"x"}`, call.Taint{}, "ask level L2"},
		{"write_file", `{"path":"` + dir + `/MEMORY.md","content":"x"}`, call.Taint{}, "ask level L2"},
		{"write_file", `{"path":"link.md","content":"x"}`, call.Taint{}, "ask level L2"},
		{"write_file", `{"path":"hard.md","content":"x"}`, call.Taint{}, "ask level L2"},
		{"write_file", `{"path":"later.md","content":"x"}`, call.Taint{}, "ask level L2"},
		{"write_file", `{"path":"tools/new/SKILL.md","content":"x"}`, call.Taint{}, "ask level L2"},
		{"write_file", `{"path":"skills/b/SKILL.md","content":"x"}`, call.Taint{}, "run policy.allow[7]"},
		{"write_file", `{"path":"skills/../SOUL.md","content":"x"}`, call.Taint{}, "ask level L2"},
		{"move", `{"from":"notes.md","to":["a.md","SOUL.md"]}`, call.Taint{}, "ask level L2"},
		{"move", `{"from":"skills","to":["x"]}`, call.Taint{}, "ask level L2"},
		{"move", `{"from":"a","to":["b"]}`, call.Taint{}, "run level L1"},

		{"write_file", `{"path":"n","content":"a ` + horse + ` b"}`, call.Taint{}, "deny secret"},
		{"write_file", `{"path":"n","content":"\u0063orrect-horse-battery"}`, call.Taint{}, "deny secret"},
		{"write_file", `{"path":"n","content":"` + url.QueryEscape(url.QueryEscape("%63orrect-horse-battery")) + `"}`, call.Taint{}, "deny secret"},
		{"write_file", `{"path":"n","content":"ｃorrect-horse-battery"}`, call.Taint{}, "deny secret"},
		{"write_file", `{"path":"n","content":"cor\u200brect-\nhorse-battery"}`, call.Taint{}, "deny secret"},
		{"fetch", `{"url":"https://x/?q=` + b64([]byte("k="+horse)) + `"}`, call.Taint{}, "deny secret"},
		{"fetch", `{"url":"https://x/?q=` + url.QueryEscape(b64([]byte(b64([]byte("it is "+horse))))) + `"}`, call.Taint{}, "deny secret"},
		{"fetch", `{"url":"x","headers":{"` + horse + `":"x"}}`, call.Taint{}, "deny secret"},
		{"run", `{"command":"echo corr''ect-horse-battery"}`, call.Taint{}, "deny secret"},
		{"fetch", `{"url":"` + strings.Repeat(b64([]byte("padding of a kind"))+" ", 100) + b64([]byte(b64([]byte(horse)))) + `"}`, call.Taint{}, "deny secret"},
		{"fetch", `{"url":"` + b64([]byte(strings.Repeat("\xff\x00", 40)+horse)) + `"}`, call.Taint{}, "deny secret"},
		{"write_file", `{"path":"n","content":"ghp_Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4fGh7j"}`, call.Taint{}, "ask secret-like"},
		{"fetch", `{"url":"https://x/?q=` + b64([]byte("ghp_Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4fGh7j")) + `"}`, call.Taint{}, "ask secret-like"},

		{"run", `{"command":"git log"}`, call.Taint{}, "run policy.allow[0]"},
		{"run", `{"command":"git log && ls | git x"}`, call.Taint{}, "run policy.allow[0], policy.allow[1]"},
		{"run", `{"command":"git log $x"}`, call.Taint{}, "run policy.allow[0]"},
		{"run", `{"command":"git log; id"}`, call.Taint{}, "ask level L2"},
		{"run", `{"command":"git log $(id)"}`, call.Taint{}, "ask level L2"},
		{"run", `{"command":"git log > SOUL.md"}`, call.Taint{}, "ask level L2"},
		{"run", `{"command":"PATH=. git log"}`, call.Taint{}, "ask level L2"},
		{"run", `{"command":"/tmp/git log"}`, call.Taint{}, "ask level L2"},
		{"run", `{"command":"git push"}`, call.Taint{}, "ask policy.ask[1]"},
		{"run", `{"command":"git $x"}`, call.Taint{}, "ask policy.ask[1]"},
		{"run", `{"command":"env git log"}`, call.Taint{}, "run policy.allow[0], policy.allow[2]"},
		{"run", `{"command":"env id"}`, call.Taint{}, "ask level L2"},
		{"run", `{"command":"sh -c 'git log'"}`, call.Taint{}, "run policy.allow[0], policy.allow[3]"},
		{"run", `{"command":"sh -c id"}`, call.Taint{}, "ask level L2"},
		{"run", `{"command":"python3 -c 'x'"}`, call.Taint{}, "ask shell"},
		{"run", `{"command":"$x"}`, call.Taint{}, "ask policy.ask[1]"},
		{"run", `{"command":"ls ("}`, call.Taint{}, "ask shell"},
		{"run", `{"command":""}`, call.Taint{}, "ask level L2"},
		{"run", `{"command":"ls; env rm x"}`, call.Taint{}, "deny policy.deny[2]"},
		{"run", `{"command":"r$x y"}`, call.Taint{}, "ask policy.deny[2]"},
		{"exec", `{"command":"ls"}`, call.Taint{}, "ask level L3"},
		{"exec", `{"command":"rm x"}`, call.Taint{}, "deny policy.deny[2]"},
		{"exec", `{"command":"ls"}`, both, "ask trifecta"},

		{"mail", `{"to":"boss@example.org","body":"x","cc":["a@example.org"]}`, call.Taint{}, "run policy.allow[5]"},
		{"mail", `{"to":"boss@example.org","body":"x","cc":["a@example.org","b@other.org"]}`, call.Taint{}, "ask level L2"},
		{"mail", `{"to":"boss@example.org","body":"x"}`, call.Taint{}, "ask level L2"},
		{"mail", `{"to":"boss@example.org","body":"x","cc":["a@example.org","x@evil.example"]}`, call.Taint{}, "deny policy.deny[3]"},
		{"mail", `{"to":"a","body":"` + strings.Repeat("x", maxShown) + `"}`, call.Taint{}, "deny level L2"},
		{"write_file", `{"path":"n","content":"` + strings.Repeat("x", maxShown) + `"}`, call.Taint{}, "run level L1"},
	} {
		v := judged(t, g, c.tool, c.args, c.taint)
		if got := string(v.Effect) + " " + v.Rule; got != c.want {
			t.Errorf("%s %.120s\n got %s (%s %q)\nwant %s", c.tool, c.args, got, v.Reason, v.Why, c.want)
		}
		sound(t, v)
	}
}

// sound checks what holds for every verdict.
func sound(t interface {
	Errorf(string, ...any)
}, v call.Verdict,
) {
	r := v.Request
	switch v.Effect {
	case call.Deny:
		if v.Reason == "" || v.Shown != "" || v.Grant != "" || v.Always != nil {
			t.Errorf("denied: %+v", v)
		}
	case call.Ask:
		if v.Shown == "" || len(v.Shown) > maxShown || len(v.Why) == 0 || (v.Grant == "") != (v.Fixed == "") || v.Always != nil {
			t.Errorf("asked: %+v", v)
		}
		if v.Grant != "" && (r.Level == toolv1.L3 || v.Rule == "trifecta" || v.Rule == "secret-like") {
			t.Errorf("could be granted for ever: %+v", v)
		}
	case call.Run:
		if r.Level == toolv1.L3 {
			t.Errorf("L3 runs: %+v", v)
		}
	default:
		t.Errorf("effect %q", v.Effect)
	}
	if v.Effect != call.Deny && (r.Digest != canonical.Digest(r.Arguments) || r.Executor == "" || r.ToolDigest == "" || r.Policy == "") {
		t.Errorf("request is not complete: %+v", r)
	}
	if strings.Contains(v.Reason+strings.Join(v.Why, ""), horse) {
		t.Errorf("a secret is told: %+v", v)
	}
}

func TestRequest(t *testing.T) {
	g, _ := house(t, Policy{})
	v := judged(t, g, "write_file", `{"content":"new", "path":"./a/../SOUL.md"}`, untrusted)
	want := callv1.Request{
		Turn: "t1", Call: "c1", Index: 2, Tool: "write_file", Executor: "builtin", Arguments: json.RawMessage(`{"content":"new","path":"./a/../SOUL.md"}`),
		Level: toolv1.L2, Files: []callv1.File{{Path: "SOUL.md", Digest: canonical.Digest([]byte("calm"))}},
	}
	want.Digest = canonical.Digest(want.Arguments)
	tool, _ := offered()[0].Find("write_file")
	want.ToolDigest = tool.Digest()
	want.Policy = g.version("main", offer{executor: "builtin", endpoint: offered()[0].Endpoint, digest: want.ToolDigest}.version())
	if change := callv1.PolicyChange(want.Policy, g.Version("main")); change != "" {
		t.Errorf("the policy of a call is not that of its agent: %s", change)
	}
	if got := v.Request; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if v.Shown != "write_file\ncontent: new\npath: ./a/../SOUL.md" || v.Fixed != "write_file with exactly these arguments" {
		t.Errorf("shown %q, fixed %q", v.Shown, v.Fixed)
	}
	if len(v.Why) != 2 || !strings.Contains(v.Why[0], "every prompt") || !strings.Contains(v.Why[1], "from outside") {
		t.Errorf("why: %q", v.Why)
	}
	v = judged(t, g, "fetch", `{"url":"https://good.example/\u202Ex"}`, both)
	if len(v.Why) != 1 || !strings.Contains(v.Why[0], `it chose where this goes: https://good.example/\u{202E}x.`) {
		t.Errorf("why: %q", v.Why)
	}
}

func TestFilesAreBound(t *testing.T) {
	g, dir := house(t, Policy{})
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, maxBound+1); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{`{"from":"notes.md","to":["new.md","notes.md"]}`, "run [{notes.md " + canonical.Digest([]byte("hello")) + "} {new.md }]"},
		{`{"from":"../x","to":["out/passwd"]}`, "run [{out/passwd }]"},
		{`{"from":"secret","to":["notes.md/x"]}`, "run [{secret } {notes.md/x }]"},
		{`{"from":"big","to":[]}`, "deny []"},
	} {
		v := judged(t, g, "move", c.args, call.Taint{})
		if got := fmt.Sprint(v.Effect, " ", v.Request.Files); got != c.want {
			t.Errorf("%s: got %s, want %s (%s)", c.args, got, c.want, v.Reason)
		}
	}
}

func TestAlways(t *testing.T) {
	policy := Policy{Ask: []Rule{{Tool: "clock"}}}
	g, dir := house(t, policy)
	again := func(tool, args string, taint call.Taint, grants ...string) call.Verdict {
		q := call.Question{Session: id(t, "main"), Tool: tool, Arguments: json.RawMessage(args), Taint: taint}
		for _, grant := range grants {
			q.Always = append(q.Always, callv1.Approval{ID: "a", Decision: callv1.AllowAlways, Grant: grant, At: time.Unix(1, 0)})
		}
		v := g.Judge(offered())(q)
		sound(t, v)
		return v
	}
	for _, c := range []struct {
		tool, first, then string
		holds             bool
	}{
		{"clock", `{"zone":"UTC"}`, `{"zone":"UTC"}`, true}, // policy.ask is lifted
		{"clock", `{"zone":"UTC"}`, `{"zone":"CET"}`, false},
		{"clock", `{"zone":"UTC"}`, `{}`, false},
		{"mail", `{"to":"a","body":"x"}`, `{"body":"y","to":"a"}`, true},
		{"mail", `{"to":"a","body":"x"}`, `{"to":"b","body":"x"}`, false},
		{"mail", `{"to":"a","body":"x"}`, `{"to":"a","cc":["b"],"body":"x"}`, false},
		{"write_file", `{"path":"SOUL.md","content":"x"}`, `{"path":"SOUL.md","content":"x"}`, true},
		{"write_file", `{"path":"SOUL.md","content":"x"}`, `{"path":"SOUL.md","content":"y"}`, false}, // nobody allows whatever may come
		{"write_file", `{"path":"SOUL.md","content":"x"}`, `{"path":"TOOLS.md","content":"x"}`, false},
		{"run", `{"command":"ls","cwd":"/"}`, `{"command":"ls","cwd":"/"}`, true},
		{"run", `{"command":"ls","cwd":"/"}`, `{"command":"ls; id","cwd":"/"}`, false}, // the command always counts
		{"run", `{"command":"env ls"}`, `{"command":"env id"}`, false},
		{"run", `{"command":"sh -c ls"}`, `{"command":"sh -c id"}`, false},
		{"run", `{"command":"xargs ls"}`, `{"command":"xargs id"}`, false},
		{"run", `{"command":"busybox ls"}`, `{"command":"busybox id"}`, false},
	} {
		v := again(c.tool, c.first, call.Taint{})
		if v.Effect != call.Ask || v.Grant == "" {
			t.Errorf("%s %s: %+v", c.tool, c.first, v)
			continue
		}
		got := again(c.tool, c.then, call.Taint{}, "other", v.Grant)
		if holds := got.Effect == call.Run; holds != c.holds || holds && (got.Rule != "always" || got.Always == nil || got.Always.Grant != v.Grant) {
			t.Errorf("%s %s, then %s: %+v", c.tool, c.first, c.then, got)
		}
	}
	for _, c := range []struct {
		tool, args string
		taint      call.Taint
	}{
		{"exec", `{"command":"ls"}`, call.Taint{}},
		{"fetch", `{"url":"x"}`, both},
		{"run", `{"command":"python3 -c 'x'"}`, call.Taint{}},
		{"run", `{"command":"("}`, call.Taint{}},
		{"mail", `{"to":"a","body":"ghp_Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4fGh7j"}`, call.Taint{}},
	} {
		if v := again(c.tool, c.args, c.taint, ""); v.Effect != call.Ask || v.Grant != "" || v.Fixed != "" {
			t.Errorf("%s %s: %+v", c.tool, c.args, v)
		}
	}
	// A decision about a call that only changed a file does not hold for one that changes prompts.
	loose := offered()
	for i := range loose[0].Tools {
		loose[0].Tools[i].Fixes = []string{"content"}
	}
	strict, err := g.With(Policy{Ask: []Rule{{Tool: "write_file"}}})
	if err != nil {
		t.Fatal(err)
	}
	q := call.Question{Session: id(t, "main"), Tool: "write_file", Arguments: json.RawMessage(`{"path":"a.md","content":"x"}`)}
	v := strict.Judge(loose)(q)
	q.Arguments = json.RawMessage(`{"path":"SOUL.md","content":"x"}`)
	q.Always = []callv1.Approval{{Decision: callv1.AllowAlways, Grant: v.Grant}}
	if got := strict.Judge(loose)(q); got.Effect != call.Ask || got.Fixed != "write_file with exactly these arguments" {
		t.Errorf("%+v", got)
	}
	q.Always[0].Decision = callv1.AllowOnce
	q.Always[0].Grant = strict.Judge(loose)(q).Grant
	if got := strict.Judge(loose)(q); got.Effect != call.Ask {
		t.Errorf("once is not always: %+v", got)
	}
	if moved := offered(); v.Grant != "" {
		moved[1].Endpoint = "https://elsewhere"
		q := call.Question{Session: id(t, "main"), Tool: "mail", Arguments: json.RawMessage(`{"to":"a","body":"x"}`)}
		if g.Judge(offered())(q).Grant == g.Judge(moved)(q).Grant {
			t.Error("a grant outlives the endpoint")
		}
	}
	_ = dir
}

func TestAgents(t *testing.T) {
	g, _ := house(t, Policy{})
	for _, c := range []struct{ agent, tool, want, reason string }{
		{"guest", "clock", "run level L0", ""},
		{"guest", "fetch", "deny tools.allow", "may not use fetch"},
		{"banned", "clock", "deny tools.deny", "may not use clock"},
		{"unknown", "clock", "run level L0", ""},
		{"outside", "clock", "deny tools.allow", "may not use clock"},
		{"reader", "clock", "deny tools.allow", "may not use clock"},
		{"reader", "read_file", "deny arguments", ""},
		{"guest", "fetsh", "deny unknown tool", "there is clock, read_file"},
		{"main", "fetsh", "deny unknown tool", "did you mean fetch?"},
		{"main", "file", "deny unknown tool", "did you mean read_file, write_file?"},
	} {
		v := g.Judge(offered())(call.Question{Session: id(t, c.agent), Tool: c.tool, Arguments: json.RawMessage(`{}`)})
		if got := string(v.Effect) + " " + v.Rule; got != c.want && c.want != "" || !strings.Contains(v.Reason, c.reason) {
			t.Errorf("%s %s: %s: %s", c.agent, c.tool, got, v.Reason)
		}
	}
	twice := append(offered(), toolv1.Catalogue{Executor: "zoo", Tools: []toolv1.Tool{{Name: "clock", Schema: object("", "")}}})
	if v := g.Judge(twice)(call.Question{Session: id(t, "main"), Tool: "clock"}); v.Effect != call.Deny {
		t.Errorf("one of two tools of a name runs: %+v", v)
	}
}

func TestExplain(t *testing.T) {
	g, _ := house(t, Policy{Allow: []Rule{{Tool: "run", Args: map[string]string{"command": "ls"}}}})
	q := call.Question{Session: id(t, "main"), Tool: "run", Arguments: json.RawMessage(`{"command":"ls; id"}`)}
	v, steps := g.Explain(offered(), q)
	if fmt.Sprint(v) != fmt.Sprint(g.Judge(offered())(q)) {
		t.Error("another verdict than the judge's")
	}
	all := strings.Join(steps, "\n")
	for _, want := range []string{"tool run: offered by mcp", "arguments: fit", "policy.deny: none", `policy.allow: no rule allows "id"`, "level L2: asks"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	if slices.Contains(steps, "") {
		t.Errorf("an empty step in %q", steps)
	}
}

func TestNew(t *testing.T) {
	for want, c := range map[string]Config{
		"policy.deny[1]: tool: is missing":      {Policy: Policy{Deny: []Rule{{Tool: "*"}, {}}}},
		"policy.ask[0]: args.x: is empty":       {Policy: Policy{Ask: []Rule{{Tool: "*", Args: map[string]string{"x": ""}}}}},
		`policy.allow[0]: args: "a..b" is no`:   {Policy: Policy{Allow: []Rule{{Tool: "*", Args: map[string]string{"a..b": "x"}}}}},
		"policy.allow[0]: agent: has control":   {Policy: Policy{Allow: []Rule{{Tool: "*", Agent: "a\x00"}}}},
		"policy.allow[0]: tool: is not valid":   {Policy: Policy{Allow: []Rule{{Tool: "\xff"}}}},
		"policy.allow[0]: tool: 1001 bytes":     {Policy: Policy{Allow: []Rule{{Tool: strings.Repeat("*", maxGlob+1)}}}},
		"policy.deny: 1001 rules":               {Policy: Policy{Deny: slices.Repeat([]Rule{{Tool: "x"}}, maxRules+1)}},
		`the workspace "w" is no absolute path`: {Agents: map[string]Agent{"a": {Workspace: "w"}}},
		"secret 1 has 3 bytes":                  {Secrets: []string{"long enough", "abc"}},
		"policy.ask[0]: tool: is missing":       {Policy: Policy{Deny: []Rule{{}}, Ask: []Rule{{}}}},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	g, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.With(Policy{Deny: []Rule{{}}}); err == nil {
		t.Error("a bad policy is taken")
	}
}
