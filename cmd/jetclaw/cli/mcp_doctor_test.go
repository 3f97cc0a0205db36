package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
)

func TestMCPStatus(t *testing.T) {
	t.Parallel()
	u := newUser(t, `mcp:
  servers:
    argsec: {command: node, args: [x.js, --token, sk-live-abcdef0123456789, --api-key=sk-zzz]}
    files: {command: npx, args: [-y, pkg], cwd: /srv, toolFilter: {include: [read_text_file]}, requestTimeoutMs: 20000, connectionTimeoutMs: 10000}
    memory: {command: node, supportsParallelToolCalls: true, approval: approve, scope: session}
    off: {url: "http://127.0.0.1:9/sse", transport: sse, enabled: false}
    docs: {url: "https://user:hunter22@example.com/mcp", auth: oauth, oauth: {scope: docs.read}}
`)
	r := u.run("mcp", "status", "--json")
	r.want(t, 0)
	likeJSON(t, r.inJSON(t), `{"path": "`+filepath.Join(u.home, "jetclaw.yaml")+`", "servers": [
		{"name": "argsec", "configured": true, "enabled": true, "ok": true, "transport": "stdio", "launch": "node x.js --token *** --api-key=***",
			"requestTimeoutMs": 60000, "connectionTimeoutMs": 30000, "supportsParallelToolCalls": false, "approval": "prompt", "scope": "shared"},
		{"name": "docs", "configured": true, "enabled": true, "ok": true, "transport": "streamable-http",
			"launch": "streamable-http https://***@example.com/mcp", "auth": "oauth",
			"authStatus": {"hasTokens": false, "requiresAuthorization": true, "hasClientInformation": false, "hasCodeVerifier": false,
				"hasDiscoveryState": false, "hasLastAuthorizationUrl": false, "state": "authorization-required"},
			"requestTimeoutMs": 60000, "connectionTimeoutMs": 30000, "supportsParallelToolCalls": false, "approval": "prompt", "scope": "shared"},
		{"name": "files", "configured": true, "enabled": true, "ok": true, "transport": "stdio", "launch": "npx -y pkg (cwd=/srv)",
			"requestTimeoutMs": 20000, "connectionTimeoutMs": 10000, "toolFilter": {"include": ["read_text_file"]},
			"supportsParallelToolCalls": false, "approval": "prompt", "scope": "shared"},
		{"name": "memory", "configured": true, "enabled": true, "ok": true, "transport": "stdio", "launch": "node",
			"requestTimeoutMs": 60000, "connectionTimeoutMs": 30000, "supportsParallelToolCalls": true, "approval": "approve", "scope": "session"},
		{"name": "off", "configured": true, "enabled": false, "ok": false, "transport": "sse", "launch": "sse http://127.0.0.1:9/sse",
			"requestTimeoutMs": 60000, "connectionTimeoutMs": 30000, "supportsParallelToolCalls": false, "approval": "prompt", "scope": "shared"}
	]}`)
	r = u.run("mcp", "status", "-v")
	r.want(t, 0)
	for _, line := range []string{
		"- argsec: stdio", "  launch: node x.js --token *** --api-key=***", "- docs: streamable-http oauth", "  oauth: authorization-required",
		"- files: stdio tool-filtered", "  timeouts: connect=10000ms request=20000ms", "  tools: include read_text_file, exclude none",
		"- memory: stdio parallel approval=approve scope=session", "- off: disabled",
	} {
		if !slices.Contains(strings.Split(r.stdout, "\n"), line) {
			t.Errorf("no line %q in\n%s", line, r.stdout)
		}
	}
}

// issues are what doctor says of the servers, by name as "level: message".
func (u *user) issues(args ...string) (found map[string][]string, code int) {
	u.t.Helper()
	r := u.run(append([]string{"mcp", "doctor", "--json"}, args...)...)
	var x mcpExam
	if err := json.Unmarshal([]byte(r.stdout), &x); err != nil {
		u.t.Fatalf("%v\n%s%s", err, r.stdout, r.stderr)
	}
	if x.OK != (r.code == 0) {
		u.t.Errorf("ok %v, exit %d", x.OK, r.code)
	}
	found = map[string][]string{}
	for _, g := range x.Servers {
		for _, i := range g.Issues {
			found[g.Name] = append(found[g.Name], i.Level+": "+i.Message)
		}
	}
	return found, r.code
}

func TestMCPDoctor(t *testing.T) {
	t.Parallel()
	u := newUser(t, `mcp:
  servers:
    good: {command: go}
    missing: {command: /no/such/program}
    unfound: {command: no-such-program-anywhere}
    nowhere: {command: go, cwd: /no/such/folder}
    evil: {command: go, env: {NODE_OPTIONS: "--require=x", LD_PRELOAD: x.so, API_TOKEN: literal-secret-value}}
    refs: {command: go, args: ["${NOT_SET}"], env: {TOKEN: "env:ALSO_NOT", OTHER: "env:IS_SET", KEY: "file:no.such.file"}}
    tls: {url: "https://example.com/mcp", caCert: /no/such/ca.pem}
    docs: {url: "https://example.com/mcp", auth: oauth}
    off: {command: /no/such/program, enabled: false}
    roots: {command: go, roots: [/no/such/root]}
`, "IS_SET=value")
	found, code := u.issues()
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	for name, want := range map[string][]string{
		"missing": {"error: ", "not found"}, "unfound": {"error: ", "not found"}, "nowhere": {"error: ", "/no/such/folder"},
		"evil": {"warning: env NODE_OPTIONS is blocked", "warning: env LD_PRELOAD is blocked", "warning: env.API_TOKEN contains a literal sensitive value"},
		"refs": {"error: env:NOT_SET is not set", "error: env:ALSO_NOT is not set", "error: ", "no.such.file"},
		"tls":  {"error: caCert: ", "/no/such/ca.pem"},
		"docs": {"warning: OAuth credentials are not authorized (authorization-required); run jetclaw mcp login docs"},
		"off":  {"server is disabled"}, "roots": {"warning: roots: /no/such/root"},
	} {
		all := strings.Join(found[name], "\n")
		for _, w := range want {
			if !strings.Contains(all, w) {
				t.Errorf("%s: no %q in %q", name, w, all)
			}
		}
	}
	if len(found["good"]) > 0 || strings.Contains(fmt.Sprint(found), "IS_SET") || strings.Contains(fmt.Sprint(found), "literal-secret") {
		t.Errorf("%q", found)
	}
	r := u.run("mcp", "doctor", "missing")
	r.want(t, 1, "MCP doctor found errors.")
	if !strings.Contains(r.stdout, "- missing: issues\n  ! error: ") {
		t.Error(r.stdout)
	}
	for _, name := range []string{"good", "evil", "docs", "off"} { // warnings, and errors of what is not used, are no failure
		if found, code := u.issues(name); code != 0 {
			t.Errorf("%s: exit %d, %q", name, code, found)
		}
	}
}

func TestSeveralPeople(t *testing.T) {
	t.Parallel()
	bot := config.DefaultBot()
	with := func(change func(*config.Telegram)) map[string]config.Telegram {
		b := bot
		change(&b)
		return map[string]config.Telegram{"home": b}
	}
	for _, c := range []struct {
		name   string
		owners []string
		bots   map[string]config.Telegram
		want   string
	}{
		{"nobody else", []string{"local"}, nil, ""},
		{"one person", []string{"local", "telegram:1"}, with(func(b *config.Telegram) { b.Access = "allowlist" }), ""},
		{"two owners", []string{"telegram:1", "telegram:2"}, nil, "2 owners of telegram"},
		{"open", []string{"local"}, with(func(b *config.Telegram) { b.Access = "open" }), "everybody"},
		{"paired", []string{"local"}, with(func(*config.Telegram) {}), "paired"},
		{"group", []string{"local"}, with(func(b *config.Telegram) { b.Groups = map[string]config.Group{"-1": {}} }), "groups"},
		{"allowed", []string{"telegram:1"}, with(func(b *config.Telegram) { b.Access, b.Allow = "allowlist", []config.UserID{2} }), "2 people"},
	} {
		conf := config.Default()
		conf.Owners, conf.Channels.Telegram = c.owners, c.bots
		got := severalPeople(app.Env{Config: conf, Lookup: func(string) (string, bool) { return "", false }})
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	u := newUser(t, `owners: ["telegram:1", "telegram:2"]
mcp: {servers: {shared: {command: go}, own: {command: go, scope: session}, web: {url: "https://example.com/mcp"}}}
`)
	found, code := u.issues()
	if code != 0 || len(found) != 1 || len(found["shared"]) != 1 || !strings.Contains(found["shared"][0], "--scope session") {
		t.Errorf("exit %d, %q", code, found)
	}
}
