package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestMCPAddProbes(t *testing.T) {
	t.Parallel()
	u := newUser(t, "")
	r := u.run(append([]string{"mcp", "add", "fake"}, fakeMCP(t, "good")...)...)
	r.want(t, 0, "3 tools, 2 of them say that they only read", "jetclaw mcp configure fake --approval auto")
	if !strings.HasPrefix(r.stdout, `Saved MCP server "fake" to `) {
		t.Error(r.stdout)
	}
	before := u.config()
	if strings.Contains(before, "approval") {
		t.Errorf("an approval that nobody has chosen is stored:\n%s", before)
	}
	r = u.run(append([]string{"mcp", "add", "bad", "--env", "FAKE_API_KEY=literal-Secret-8154"}, fakeMCP(t, "leaves")...)...)
	r.want(t, 1, `MCP probe failed for "bad"`, "nothing was saved", "cannot log in with")
	if strings.Contains(r.stdout+r.stderr, "literal-Secret-8154") {
		t.Errorf("the secret is told: %s%s", r.stdout, r.stderr)
	}
	u.run("mcp", "add", "gone", "--", "/no/such/program").want(t, 1, "not found", "nothing was saved")
	u.run("mcp", "add", "web", "--url", "http://127.0.0.1:9/mcp", "--connect-timeout", "5").want(t, 1, `MCP probe failed for "web"`)
	if u.config() != before {
		t.Errorf("a server that does not answer was saved:\n%s", u.config())
	}
	u.run("mcp", "configure", "fake", "--probe", "--exclude", "write", "--approval", "auto").want(t, 0)
	u.run("mcp", "add", "gone", "--no-probe", "--", "/no/such/program").want(t, 0, "warning: ", "not found")
	r = u.run("mcp", "add", "docs", "--url", "https://127.0.0.1:9/mcp", "--auth", "oauth")
	r.want(t, 0)
	if !strings.Contains(r.stdout, "Run jetclaw mcp login docs to authorize this MCP server.") {
		t.Error(r.stdout)
	}
}

func TestMCPProbe(t *testing.T) {
	t.Parallel()
	u := newUser(t, fakeMCPYAML(t, map[string]string{"good": "good", "leaves": "leaves", "babbles": "babbles"}))
	u.run("mcp", "configure", "good", "--exclude", "write", "--approval", "auto").want(t, 0)
	r := u.run("mcp", "probe", "good", "--json")
	r.want(t, 0)
	got := r.inJSON(t)
	if when, _ := got["generatedAt"].(string); len(when) != len("2026-05-31T09:00:00.000Z") {
		t.Errorf("%q", when)
	}
	delete(got, "generatedAt")
	servers, _ := got["servers"].(map[string]any)
	good, _ := servers["good"].(map[string]any)
	server, _ := good["server"].(map[string]any)
	if server["name"] != "fake" || server["version"] != "1.2.3" {
		t.Errorf("%v", server)
	}
	delete(good, "server")
	delete(good, "launch")
	likeJSON(t, got, `{"servers": {"good": {"tools": 2, "codexApprovalMode": "auto", "approval": "auto", "requestTimeoutMs": 60000, "filteredTools": 1,
		"annotatedTools": 2, "readOnlyTools": 2, "resources": true, "listChanged": {"tools": true, "resources": true, "prompts": false}}},
		"tools": ["good__list", "good__look", "good__resources_list", "good__resources_read"], "diagnostics": []}`)
	r = u.run("mcp", "probe", "good")
	r.want(t, 0)
	if !strings.HasSuffix(r.stdout, "\n- good: 2 tools, 1 hidden by the filter, resources, approval auto\n") {
		t.Error(r.stdout)
	}

	r = u.run("mcp", "probe", "--json")
	r.want(t, 1, `MCP probe failed for "leaves" in `, `MCP probe failed for "babbles" in `)
	got = r.inJSON(t)
	var failed []string
	diagnostics, _ := got["diagnostics"].([]any)
	for _, d := range diagnostics {
		d, _ := d.(map[string]any)
		failed = append(failed, fmt.Sprint(d["serverName"]))
		if d["safeServerName"] != d["serverName"] || d["message"] == "" || d["launchSummary"] == "" {
			t.Errorf("%v", d)
		}
	}
	if servers, _ := got["servers"].(map[string]any); len(servers) != 1 || !slices.Equal(failed, []string{"babbles", "leaves"}) {
		t.Errorf("%v", got)
	}
	r = u.run("mcp", "probe")
	r.want(t, 1)
	for _, s := range []string{"- good: 2 tools", "! leaves: ", "stderr: cannot log in with", "! babbles: "} {
		if !strings.Contains(r.stdout, s) {
			t.Errorf("no %q in %s", s, r.stdout)
		}
	}

	found, code := u.issues("--probe")
	if code != 1 || len(found["good"]) > 0 || !strings.Contains(strings.Join(found["leaves"], "\n"), "error: probe failed: ") {
		t.Errorf("exit %d, %q", code, found)
	}
}

// TestMCPSecrets plants secrets in all places of a definition and looks for them in all that commands print.
func TestMCPSecrets(t *testing.T) {
	t.Parallel()
	c := canaries{}
	for _, place := range []string{"env", "header", "flag", "option", "user", "query", "client", "referred"} {
		c[place] = "Zq7" + place + "x9fK2mW4tR8vB1nL6"
	}
	secretless := fakeMCPYAML(t, map[string]string{"leaves": "leaves"})
	u := newUser(t, strings.TrimSuffix(secretless, "}}\n")+fmt.Sprintf(`, FAKE_API_KEY: %q, OTHER_KEY: "env:REFERRED"}}
    args: {command: go, args: [x.js, --token, %q, "--api-key=%s"]}
    web: {url: "http://user:%s@127.0.0.1:9/mcp?api_key=%s", headers: {Authorization: "Bearer %s"}}
    docs: {url: "http://127.0.0.1:9/mcp", auth: oauth, oauth: {clientId: me, clientSecret: "env:REFERRED"}}
`, c["env"], c["flag"], c["option"], c["user"], c["query"], c["header"]), "REFERRED="+c["referred"])
	for _, args := range []string{
		"list", "list --json", "show", "show --json", "show web", "show web --json", "show leaves", "status", "status --verbose", "status --json",
		"doctor", "doctor --json", "doctor --probe", "doctor --probe --json", "probe leaves", "probe leaves --json", "probe web", "probe web --json",
		"probe", "probe --json", "configure leaves --probe --timeout 5", "tools web --include x", "unset nope", "reload",
		"configure web --timeout nope", "configure web --ssl-verify false --probe", "import - --dry-run",
	} {
		r := u.runIn(fmt.Sprintf(`{"mcpServers": {"x": {"command": "y", "args": ["--token", %q], "env": {"API_KEY": %q}}}}`, c["flag"], c["env"]),
			append([]string{"mcp"}, strings.Fields(args)...)...)
		c.find(t, args+": stdout", r.stdout)
		c.find(t, args+": stderr", r.stderr)
		if r.stdout+r.stderr == "" {
			t.Errorf("%s: says nothing", args)
		}
	}
	literal := `{"command":"x","env":{"API_KEY":"` + c["env"] + `"},"oops":"` + c["client"] + `"}`
	for _, args := range [][]string{
		{"set", "n", literal},
		{"set", "n", strings.Replace(literal, "oops", "cwd", 1)},
		{"set", "n", literal[:len(literal)-1]},
		{"add", "n", "--command", "x", "--env", c["env"]},
		{"add", "m", "--no-probe", "--command", "x", "--env", "API_KEY=" + c["env"]},
		{"add", "o", "--url", "http://user:" + c["user"] + "@127.0.0.1:9/", "--header", "X-Api-Key: " + c["header"]},
		{"add", "p", "--url", "ht!tp://user:" + c["user"] + "@/"},
		{"login", "docs", "--code", c["client"]},
	} {
		r := u.run(append([]string{"mcp"}, args...)...)
		c.find(t, args[0]+": stdout", r.stdout)
		c.find(t, args[0]+": stderr", r.stderr)
	}
}
