package definition

import (
	"strings"
	"testing"
)

func TestExport(t *testing.T) {
	no := false
	all := map[string]Definition{
		"files": {
			Command: "npx", Args: []string{"-y", "x", "--token", "hunter22", "${HOME}", "$$5"}, Cwd: "/srv", RequestTimeoutMs: 1500, ConnectionTimeoutMs: 60000,
			Env: map[string]string{"A": "env:A", "B": "env:OTHER", "C": "file:keys/c", "API_KEY": "hunter22", "D": "plain"}, Approval: Approve,
			ToolFilter: &ToolFilter{Include: []string{"read_*"}, Exclude: []string{"x"}},
		},
		"docs": {
			URL: "https://u:hunter22@h/mcp", Headers: map[string]string{"Authorization": "Bearer ${T}", "X-Api-Key": "env:K", "X-Token": "hunter22", "X-Plain": "1"},
			Auth: "oauth", OAuth: &OAuth{Scope: "a b", ClientID: "c", ClientSecret: "hunter22"},
		},
		"old": {URL: "https://h/sse", Transport: SSE, Enabled: &no},
	}
	for client, want := range map[string]string{
		"claude": `{"mcpServers":{"docs":{"type":"http","url":"https://${SECRET}@h/mcp","headers":{"Authorization":"Bearer ${T}","X-Api-Key":"${K}","X-Plain":"1","X-Token":"${X_TOKEN}"}},` +
			`"files":{"command":"npx","args":["-y","x","--token","${TOKEN}","${HOME}","$5"],"env":{"A":"${A}","API_KEY":"${API_KEY}","B":"${OTHER}","C":"${C}","D":"plain"}}}}`,
		"cursor": `{"mcpServers":{"docs":{"url":"https://${env:SECRET}@h/mcp","headers":{"Authorization":"Bearer ${env:T}","X-Api-Key":"${env:K}","X-Plain":"1","X-Token":"${env:X_TOKEN}"}},` +
			`"files":{"command":"npx","args":["-y","x","--token","${env:TOKEN}","${env:HOME}","$5"],"env":{"A":"${env:A}","API_KEY":"${env:API_KEY}","B":"${env:OTHER}","C":"${env:C}","D":"plain"},"cwd":"/srv"},` +
			`"old":{"url":"https://h/sse","disabled":true}}}`,
		"gemini": `{"mcpServers":{"docs":{"httpUrl":"https://${SECRET}@h/mcp","headers":{"Authorization":"Bearer ${T}","X-Api-Key":"${K}","X-Plain":"1","X-Token":"${X_TOKEN}"},` +
			`"oauth":{"enabled":true,"clientId":"c","scopes":["a","b"]}},` +
			`"files":{"command":"npx","args":["-y","x","--token","${TOKEN}","${HOME}","$5"],"env":{"A":"${A}","API_KEY":"${API_KEY}","B":"${OTHER}","C":"${C}","D":"plain"},"cwd":"/srv",` +
			`"timeout":1500,"trust":true,"includeTools":["read_*"],"excludeTools":["x"]}}}`,
	} {
		raw, err := Export(client, all)
		got := strings.NewReplacer("\n", "", "  ", "", ": ", ":").Replace(string(raw))
		got = strings.ReplaceAll(got, `" :`, `":`)
		if err != nil || got != want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", client, err, got, want)
		}
	}
	// A secret never becomes a name.
	hidden, err := Export("claude", map[string]Definition{"x": {Command: "x", Args: []string{
		"--api-key", "hunter22hunter22", "--token=hunter33", "API_KEY=hunter44",
	}}})
	got := strings.Join(strings.Fields(string(hidden)), "")
	if want := `"args":["--api-key","${API_KEY}","--token=${TOKEN}","API_KEY=${API_KEY}"]`; err != nil || !strings.Contains(got, want) || strings.Contains(strings.ToLower(got), "hunter") {
		t.Errorf("%v: %s", err, got)
	}
	raw, err := Export("codex", all)
	const want = `[mcp_servers.docs]
# Codex does not put variables in: replace ${NAME} by its value
url = "https://${SECRET}@h/mcp"
bearer_token_env_var = "T"
http_headers = { X-Plain = "1", X-Token = "${X_TOKEN}" }
env_http_headers = { X-Api-Key = "K" }

[mcp_servers.files]
# Codex does not put variables in: replace ${NAME} by its value
command = "npx"
args = ["-y", "x", "--token", "${TOKEN}", "${HOME}", "$5"]
env = { API_KEY = "${API_KEY}", B = "${OTHER}", C = "${C}", D = "plain" }
env_vars = ["A"]
cwd = "/srv"
startup_timeout_sec = 60
tool_timeout_sec = 2
enabled_tools = ["read_*"]
disabled_tools = ["x"]

[mcp_servers.old]
enabled = false
url = "https://h/sse"
`
	if err != nil || string(raw) != want {
		t.Errorf("%v\n%s", err, raw)
	}
	if _, err := Export("emacs", all); err == nil || err.Error() != "client must be one of claude, codex, cursor, gemini" {
		t.Error(err)
	}
}

// TestImportOfExport reads back what is written for other clients.
func TestImportOfExport(t *testing.T) {
	all := map[string]Definition{"a": {
		Command: "npx", Args: []string{"x", "${HOME}", "a$$b", "a$$${HOME}"}, Env: map[string]string{"A": "env:A"}, RequestTimeoutMs: 5000, Approval: Approve,
	}}
	want := `{"command":"npx","args":["x","${HOME}","a$b","a$$${HOME}"],"env":{"A":"${A}"}`
	for _, client := range []string{"claude", "cursor", "gemini"} {
		raw, err := Export(client, all)
		if err != nil {
			t.Fatal(err)
		}
		back, _, err := ParseClients(raw)
		if err != nil || !strings.HasPrefix(string(back["a"].encoded()), want) {
			t.Errorf("%s: %v %s", client, err, back["a"].encoded())
		}
	}
}
