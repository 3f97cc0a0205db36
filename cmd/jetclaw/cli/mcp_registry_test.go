package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// config is what jetclaw.yaml holds.
func (u *user) config() string {
	u.t.Helper()
	data, err := os.ReadFile(filepath.Join(u.home, "jetclaw.yaml"))
	if err != nil {
		u.t.Fatal(err)
	}
	return string(data)
}

func TestMCPWithoutServers(t *testing.T) {
	t.Parallel()
	u := newUser(t, "")
	file := filepath.Join(u.home, "jetclaw.yaml")
	for _, c := range []struct{ args, json, text string }{
		{"list", `{}`, "No MCP servers configured in " + file + "."},
		{"show", `{}`, "MCP servers (" + file + "):\n{}\n"},
		{"status", `{"path": "` + file + `", "servers": []}`, "No MCP servers configured in " + file + ".\n"},
		{"doctor", `{"path": "` + file + `", "ok": true, "servers": []}`, "No MCP servers configured in " + file + "."},
	} {
		r := u.run("mcp", c.args, "--json")
		r.want(t, 0)
		likeJSON(t, r.inJSON(t), c.json)
		r = u.run("mcp", c.args)
		r.want(t, 0)
		if !strings.HasPrefix(r.stdout, c.text) {
			t.Errorf("%s: %q", c.args, r.stdout)
		}
	}
	r := u.run("mcp", "probe", "--json")
	r.want(t, 0)
	got := r.inJSON(t)
	delete(got, "generatedAt")
	likeJSON(t, got, `{"servers": {}, "tools": [], "diagnostics": []}`)

	none := `No MCP server named "nope" in ` + file + ". Run jetclaw mcp list to see configured servers."
	for _, args := range [][]string{
		{"show", "nope"},
		{"doctor", "nope"},
		{"probe", "nope"},
		{"unset", "nope"},
		{"tools", "nope", "--include", "a"},
		{"configure", "nope", "--disable"},
		{"login", "nope"},
		{"logout", "nope"},
		{"export", "claude", "nope"},
	} {
		u.run(append([]string{"mcp"}, args...)...).want(t, 1, none)
	}
	for _, name := range []string{"show", "doctor", "probe"} {
		r := u.run("mcp", name, "nope", "--json")
		r.want(t, 1)
		likeJSON(t, r.inJSON(t), `{"ok": false, "error": {"type": "cli_error", "message": `+quotedJSON(t, none)+`}}`)
		if r.stderr != "" {
			t.Errorf("stderr %q", r.stderr)
		}
	}
	r = u.run("mcp", "reload")
	r.want(t, 0)
	if r.stdout != "No jetclaw runs; the next one to start reads "+file+".\n" {
		t.Errorf("%q", r.stdout)
	}
	if _, err := os.Stat(u.home); !os.IsNotExist(err) {
		t.Errorf("commands that only look have made a home: %v", err)
	}
}

func quotedJSON(t *testing.T, text string) string {
	t.Helper()
	q, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(q)
}

func TestMCPRegistry(t *testing.T) {
	t.Parallel()
	u := newUser(t, "# mine\nlog: {level: warn} # quiet\n")
	file := filepath.Join(u.home, "jetclaw.yaml")
	add := func(args ...string) {
		t.Helper()
		r := u.run(append([]string{"mcp", "add", "--no-probe"}, args...)...)
		r.want(t, 0)
		if !strings.HasPrefix(r.stdout, `Saved MCP server "`+args[0]+`" to `+file+".\n") {
			t.Errorf("%q", r.stdout)
		}
	}
	add("memory", "--command", "node", "--arg", "-y", "--arg", "server.js", "--env", "MEMORY_FILE=/tmp/m=1", "--cwd", "/", "--parallel",
		"--approval", "prompt", "--timeout", "20", "--connect-timeout", "1.5", "--idle-timeout", "7200")
	add("files", "--include", "read_*, list", "--exclude", "a,b", "--exclude", "c", "--scope", "session", "--root", "/srv", "--elicitation",
		"--", "npx", "-y", "--verbose", "pkg", "/srv")
	add("docs", "--url", "https://mcp.example.com/mcp", "--transport", "streamable-http", "--auth", "oauth", "--oauth-scope", "docs.read",
		"--oauth-client-id", "me", "--oauth-client-secret", "env:DOCS_SECRET", "--ssl-verify", "false", "--ca-cert", "/etc/ca.pem", "--client-cert", "/c.pem", "--client-key", "/k.pem")
	add("wiki", "--url", "https://wiki.example.com/mcp", "--header", "X-Team=a", "--header", "X-Other: b:c=d", "--disabled")

	r := u.run("mcp", "list", "--json")
	r.want(t, 0)
	likeJSON(t, r.inJSON(t), `{
		"memory": {"command": "node", "args": ["-y", "server.js"], "env": {"MEMORY_FILE": "/tmp/m=1"}, "cwd": "/", "requestTimeoutMs": 20000,
			"connectionTimeoutMs": 1500, "idleTimeoutMs": 7200000, "supportsParallelToolCalls": true, "approval": "prompt"},
		"files": {"command": "npx", "args": ["-y", "--verbose", "pkg", "/srv"], "toolFilter": {"include": ["read_*", "list"],
			"exclude": ["a", "b", "c"]}, "scope": "session", "elicitation": true, "roots": ["/srv"]},
		"docs": {"url": "https://mcp.example.com/mcp", "transport": "streamable-http", "auth": "oauth", "oauth": {"scope": "docs.read",
			"clientId": "me", "clientSecret": "env:DOCS_SECRET"}, "sslVerify": false, "caCert": "/etc/ca.pem", "clientCert": "/c.pem", "clientKey": "/k.pem"},
		"wiki": {"url": "https://wiki.example.com/mcp", "headers": {"X-Team": "a", "X-Other": "b:c=d"}, "enabled": false}
	}`)
	if r := u.run("mcp", "list"); r.stdout != "MCP servers ("+file+"):\n- docs\n- files\n- memory\n- wiki\n" {
		t.Errorf("%q", r.stdout)
	}
	if text := u.config(); !strings.HasPrefix(text, "# mine\nlog: {level: warn} # quiet\n") {
		t.Errorf("the rest of the file has changed:\n%s", text)
	}

	u.run("mcp", "add", "files", "--command", "/no/such/program").want(t, 1, `MCP server "files" already exists.`)
	r = u.run("mcp", "show", "filse")
	r.want(t, 1, `No MCP server named "filse"`, `Did you mean "files"?`)

	for _, args := range [][]string{
		{"configure", "wiki", "--enable", "--timeout", "9", "--approval", "auto", "--include", "x"},
		{"configure", "memory", "--no-parallel", "--clear-timeouts", "--elicitation", "--root", "/a", "--root", "/b"},
		{"configure", "docs", "--clear-auth", "--clear-tls"},
		{"configure", "files", "--disable", "--elicitation=false", "--scope", "shared", "--clear-tools"},
	} {
		r := u.run(append([]string{"mcp"}, args...)...)
		r.want(t, 0)
		if r.stdout != `Updated MCP server "`+args[1]+`" in `+file+".\n" {
			t.Errorf("%q", r.stdout)
		}
	}
	r = u.run("mcp", "tools", "wiki", "--exclude", "y")
	r.want(t, 0)
	if r.stdout != `Updated MCP tool selection for "wiki" in `+file+".\n" {
		t.Errorf("%q", r.stdout)
	}
	r = u.run("mcp", "show", "--json")
	likeJSON(t, r.inJSON(t), `{
		"memory": {"command": "node", "args": ["-y", "server.js"], "env": {"MEMORY_FILE": "/tmp/m=1"}, "cwd": "/", "approval": "prompt",
			"elicitation": true, "roots": ["/a", "/b"]},
		"files": {"command": "npx", "args": ["-y", "--verbose", "pkg", "/srv"], "scope": "shared", "roots": ["/srv"], "enabled": false},
		"docs": {"url": "https://mcp.example.com/mcp", "transport": "streamable-http"},
		"wiki": {"url": "https://wiki.example.com/mcp", "headers": {"X-Team": "a", "X-Other": "b:c=d"}, "requestTimeoutMs": 9000,
			"approval": "auto", "toolFilter": {"include": ["x"], "exclude": ["y"]}}
	}`)
	u.run("mcp", "tools", "wiki", "--clear").want(t, 0)
	if r := u.run("mcp", "show", "wiki", "--json"); strings.Contains(r.stdout, "toolFilter") {
		t.Error(r.stdout)
	}
	u.run("mcp", "probe", "files").want(t, 1, `MCP server "files" is disabled in `+file+`. Run jetclaw mcp configure files --enable before probing it.`)
	u.run("mcp", "login", "memory").want(t, 1, `MCP server "memory" is not configured with auth: "oauth".`)
	u.run("mcp", "logout", "memory").want(t, 1, `MCP server "memory" needs a valid HTTP transport for OAuth logout.`)

	r = u.run("mcp", "unset", "memory")
	r.want(t, 0)
	if r.stdout != `Removed MCP server "memory" from `+file+".\n" {
		t.Errorf("%q", r.stdout)
	}
	u.run("mcp", "unset", "memory").want(t, 1, `No MCP server named "memory"`)
	if text := u.config(); !strings.HasPrefix(text, "# mine\nlog: {level: warn} # quiet\n") || strings.Contains(text, "memory") {
		t.Errorf("%s", text)
	}
}

func TestMCPSet(t *testing.T) {
	t.Parallel()
	u := newUser(t, "")
	u.run("mcp", "set", "viaset", `{"type":"http","url":"http://127.0.0.1:9/x"}`).want(t, 0)
	r := u.run("mcp", "show", "viaset", "--json")
	likeJSON(t, r.inJSON(t), `{"url": "http://127.0.0.1:9/x", "transport": "streamable-http"}`)
	r = u.runIn(`{"command": "uvx", "args": ["context7-mcp"], "codex": {"defaultToolsApprovalMode": "approve"}}`, "mcp", "set", "viaset", "-")
	r.want(t, 0)
	r = u.run("mcp", "show", "viaset", "--json")
	likeJSON(t, r.inJSON(t), `{"command": "uvx", "args": ["context7-mcp"], "approval": "approve"}`)
	before := u.config()
	for _, c := range []struct{ json, says string }{
		{`{not json`, "JSON"},
		{`[1,2]`, "object"},
		{`{}`, "needs command or url"},
		{`{"comand":"x"}`, `"command"`},
		{`{"command":1}`, "command"},
		{`{"url":"ftp://x"}`, "http"},
		{`{"command":"a","url":"http://b"}`, "one of them"},
		{`{"command":"a","approval":"always"}`, "approval"},
	} {
		u.run("mcp", "set", "viaset", c.json).want(t, 2, c.says)
	}
	u.run("mcp", "set", "bad name!", `{"command":"x"}`).want(t, 2)
	if u.config() != before {
		t.Error("a refused definition has changed the file")
	}
}

func TestMCPWrongFlags(t *testing.T) {
	t.Parallel()
	u := newUser(t, "mcp: {servers: {a: {command: x}, web: {url: \"https://example.com/mcp\"}}}\n")
	for _, c := range []struct{ args, says string }{
		{"add", "takes the name of one MCP server"},
		{"add n", "give a command after --"},
		{"add n m", "takes the name of one MCP server"},
		{"add n --", "no command stands after --"},
		{"add -- x", "takes the name of one MCP server"},
		{"add ../n --command x", "../n"},
		{"add n --command x --url http://127.0.0.1:9/", "not both"},
		{"add n --command x -- y", "not both"},
		{"add n --url notaurl --no-probe", "url"},
		{"add n --url http://127.0.0.1:9/ --transport ftp", "must be streamable-http or sse"},
		{"add n --url http://127.0.0.1:9/ --env A=b", "for a program"},
		{"add n --command x --header A=b", "--header is for servers with a URL"},
		{"add n --command x --auth oauth", "--auth is for servers with a URL"},
		{"add n --command x --env NOEQUALS-s3cret-value", "--env takes KEY=VALUE"},
		{"add n --command x --env A=1 --env A=2", "--env A is given twice"},
		{"add n --command x --timeout abc", "must be a number of seconds"},
		{"add n --command x --timeout -1", "must be a number of seconds"},
		{"add n --command x --timeout NaN", "must be a number of seconds"},
		{"add n --command x --approval mostly", "must be auto or prompt or approve"},
		{"add n --command x --include ,", "--include names no tool"},
		{"add n --url https://example.com/ --oauth-scope a", "need --auth oauth"},
		{"configure a", "say what to change"},
		{"configure a --probe", "say what to change"},
		{"configure a --enable --disable", "contradict"},
		{"configure a --client-cert c.pem", "for servers with a URL"},
		{"configure web --client-cert c.pem", "clientKey"},
		{"tools a", "specify --include, --exclude, or --clear"},
		{"list a", "does not take"},
		{"show a b", "at most"},
		{"statsu", `did you mean "status"?`},
		{"export claud", "claude, codex, gemini, cursor"},
		{"import", "takes one file"},
		{"import /no/such/file.json", "no such file"},
		{"login web --code ", "is not configured with auth"},
	} {
		want := 2
		if strings.HasPrefix(c.args, "login") {
			want = 1
		}
		r := u.run(append([]string{"mcp"}, strings.Fields(c.args)...)...)
		if strings.HasSuffix(c.args, "--code ") {
			r = u.run("mcp", "login", "web", "--code", "")
		}
		r.want(t, want, c.says)
		if strings.Contains(r.stderr+r.stdout, "s3cret") {
			t.Errorf("%s: repeats a value: %s", c.args, r.stderr)
		}
	}
	broken := newUser(t, "mcp: {servers: {a: {comand: x}}}\n")
	broken.run("mcp", "list").want(t, 10, "comand")
	r := broken.run("mcp", "list", "--json")
	r.want(t, 10)
	if got := r.inJSON(t); got["ok"] != false {
		t.Error(r.stdout)
	}
	broken.run("mcp", "add", "n", "--no-probe", "--command", "x").want(t, 10)
}
