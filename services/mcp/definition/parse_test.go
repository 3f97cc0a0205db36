package definition

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		`{"command":"uvx","args":["context7-mcp"]}`:                                  `{"command":"uvx","args":["context7-mcp"]}`,
		`{"url":"http://127.0.0.1:9/x","type":"http"}`:                               `{"url":"http://127.0.0.1:9/x","transport":"streamable-http"}`,
		`{"url":"https://h","type":"streamableHttp","disabled":true}`:                `{"url":"https://h","transport":"streamable-http","enabled":false}`,
		`{"url":"https://h","transport":"sse","type":"sse"}`:                         `{"url":"https://h","transport":"sse"}`,
		`{"command":"x","type":"stdio","codex":{"defaultToolsApprovalMode":"auto"}}`: `{"command":"x","approval":"auto"}`,
		`{"command":"x","transport":"stdio","env":null}`:                             `{"command":"x"}`,
	} {
		d, _, err := Parse([]byte(in))
		if err != nil || string(d.encoded()) != want {
			t.Errorf("%s: %v %s", in, err, d.encoded())
		}
	}
	_, issues, err := Parse([]byte(`{"url":"https://h","type":"http","disabled":true}`))
	if err != nil || texts(issues) != "info: type is kept as transport: streamable-http\ninfo: disabled is kept as enabled: false" {
		t.Error(err, texts(issues))
	}
}

func TestParseRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`{not json`:                              "not JSON: something is wrong at byte 2",
		``:                                       "not JSON: it ends too early",
		`{"a":`:                                  "not JSON: it ends too early",
		`[1,2]`:                                  "must be a JSON object",
		`null`:                                   "must be a JSON object",
		`{} {}`:                                  "there is something behind the JSON object",
		`{}`:                                     "needs command or url",
		`{"comand":"x"}`:                         `unknown key "comand"; did you mean "command"?`,
		`{"Command":"x"}`:                        `unknown key "Command"; did you mean "command"?`,
		`{"command":"x","timeout":5}`:            `unknown key "timeout"; here it is requestTimeoutMs, in milliseconds`,
		`{"command":"x","requestTimeoutMs":"5"}`: "requestTimeoutMs must be a whole number, not text",
		`{"command":"x","requestTimeoutMs":1.5}`: "requestTimeoutMs must be a whole number, not a number",
		`{"command":"x","args":"hunter22"}`:      "args must be a list, not text",
		`{"command":["hunter22"]}`:               "command must be text, not a list",
		`{"command":"x","env":{"PORT":8080}}`:    "env must be text, not a number",
		`{"command":"x","command":"y"}`:          `key "command" is given twice`,
		`{"url":"https://h","oauth":{"scopes":["x"]}}`:                                    `unknown key "oauth.scopes"; here it is oauth.scope, with spaces between them`,
		`{"url":"https://h","oauth":[]}`:                                                  "oauth: must be a JSON object",
		`{"command":"x","toolFilter":{"includes":[]}}`:                                    `unknown key "toolFilter.includes"; did you mean "toolFilter.include"?`,
		`{"command":"x","codex":{"x":1}}`:                                                 `unknown key "codex.x"; known here: defaultToolsApprovalMode`,
		`{"url":"https://h","type":"http","transport":"sse"}`:                             "type and transport say different things; keep transport",
		`{"command":"x","approval":"auto","codex":{"defaultToolsApprovalMode":"prompt"}}`: "approval and codex.defaultToolsApprovalMode say different things; keep approval",
		`{"command":"x","enabled":true,"disabled":true}`:                                  "has enabled and disabled; keep enabled",
		`{"command":"x","disabled":"yes"}`:                                                "disabled must be true or false",
		`{"url":"https://h","type":"stdio"}`:                                              "transport stdio is for a command, not for a url",
		`{"zzzzzzzzzzzz":1}`:                                                              `unknown key "zzzzzzzzzzzz"; known here: command, args,`,
	} {
		_, _, err := Parse([]byte(in))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			// env: which of the map it is, the decoder does not say in all versions
			if err == nil || !strings.HasPrefix(err.Error(), strings.Replace(want, "env must", "env.PORT must", 1)) {
				t.Errorf("%s\ngot  %v\nwant %s", in, err, want)
			}
		}
		if err != nil && strings.Contains(err.Error(), "hunter22") {
			t.Error("a value is in the error:", err)
		}
	}
}

func TestParseClients(t *testing.T) {
	all, issues, err := ParseClients([]byte("\uFEFF" + `{ // of Claude
		"mcpServers": {
			"files": {"type": "stdio", "command": "npx", "args": ["-y", "x", "pa$$word", "http://x//y"], "env": {"A": "${A:-hunter22}", "B": "$B_KEY", "PORT": 8080, "N": null}, "alwaysAllow": ["x"],},
			"gem ini": {"httpUrl": "https://h/mcp", "trust": true, "timeout": 30000, "includeTools": ["a"], "excludeTools": ["b"], "headers": {"Authorization": "Bearer ${env:T}"}},
			"cursor": {"url": "https://h/sse", "type": "sse", "disabled": true, "oauth": {"scopes": ["a", "b"], "clientId": "c", "x": 1}, "timeout": 60},
			"code": {"command": "node", "args": ["${input:api-key}", "${workspaceFolder}/x", "${userHome}"]},
			"bad": {"command": "x", "url": "https://h"},
			"trusting": {"url": "https://h", "approval": "approve", "headers": {"A": "file:/etc/key", "B": "env:TOKEN"}},
			"worse": [], "empty": {}, /* no more */
		},
	}`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, d := range all {
		got[name] = string(d.encoded())
	}
	for name, want := range map[string]string{
		"files":    `{"command":"npx","args":["-y","x","pa$$$word","http://x//y"],"env":{"A":"${A}","B":"${B_KEY}","PORT":"8080"}}`,
		"gem ini":  `{"url":"https://h/mcp","transport":"streamable-http","headers":{"Authorization":"Bearer ${T}"},"requestTimeoutMs":30000,"toolFilter":{"include":["a"],"exclude":["b"]},"approval":"approve"}`,
		"cursor":   `{"url":"https://h/sse","transport":"sse","auth":"oauth","oauth":{"scope":"a b","clientId":"c"},"enabled":false}`,
		"trusting": `{"url":"https://h","headers":{"A":"file:/etc/key","B":"env:TOKEN"},"approval":"approve"}`,
		"code":     `{"command":"node","args":["${API_KEY}","${workspaceFolder}/x","${HOME}"]}`,
	} {
		if got[name] != want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got[name], want)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("more: %v", got)
	}
	want := `error: bad: has command and url; keep one of them
warning: code: args[0] asks a person for "api-key"; set the environment variable API_KEY instead
warning: code: args[1] uses ${workspaceFolder}, which only an editor knows: write it out
info: cursor: timeout is not taken over: it may be in seconds or in milliseconds
info: cursor: "oauth.x" is not taken over
error: empty: needs command or url
info: files: "alwaysAllow" is not taken over
warning: files: env.A had a default for ${A}, which is not taken over: set the variable
warning: gem ini: trust is kept as approval: approve; no call of its tools is asked about
warning: trusting: approval is approve: calls of its tools run without a question, by the word of the file
warning: trusting: headers.A is read from file:/etc/key and given to the server: other clients would send these letters
warning: trusting: headers.B is read from env:TOKEN and given to the server: other clients would send these letters
error: worse: must be a JSON object`
	if texts(issues) != want {
		t.Errorf("got\n%s\nwant\n%s", texts(issues), want)
	}
	for in, want := range map[string]string{
		`{"servers": {"a": {"command": "x"}}}`: "", `{"mcp": {"servers": {"a": {"command": "x"}}}}`: "", `{"context_servers": {"a": {"command": "x"}}}`: "",
		`{"a": 1}`: `holds no servers: there is neither "mcpServers" nor "servers"`, `{"mcpServers": []}`: "mcpServers: must be a JSON object",
	} {
		all, _, err := ParseClients([]byte(in))
		if want == "" && (err != nil || all["a"].Command != "x") || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v %v", in, all, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a": {"command": "x", "env": {"A": "$A${B:-c}${input:d}"}}}} // x`))
	f.Add([]byte(`{"command":"x","type":"stdio","codex":{"defaultToolsApprovalMode":"auto"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if d, _, err := Parse(data); err == nil && len(d.Validate()) > 0 {
			t.Errorf("%s is taken", data)
		}
		all, _, err := ParseClients(data)
		if err != nil {
			return
		}
		for name, d := range all {
			if len(d.Validate()) > 0 || ValidName(NameFrom(name)) != nil {
				t.Errorf("%s of %s is taken", name, data)
			}
		}
		for _, client := range Clients {
			if _, err := Export(client, all); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestParseShown: what show prints instead of a secret does not become the secret.
func TestParseShown(t *testing.T) {
	d := Definition{Command: "x", Args: []string{"--token", "hunter22"}, Env: map[string]string{"API_KEY": "hunter22"}}
	raw, err := json.Marshal(d.Redacted())
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = Parse(raw)
	if err == nil || !strings.Contains(err.Error(), "args[1] has ***") || !strings.Contains(err.Error(), "env.API_KEY has ***") {
		t.Errorf("%v", err)
	}
}

// TestProjects: Claude Code keeps servers for single folders, too.
func TestProjects(t *testing.T) {
	all, issues, err := ParseClients([]byte(`{"mcpServers":{"a":{"command":"everywhere"}},"projects":{"/x":{"mcpServers":{"a":{"command":"x"},"b":{"command":"y"}}},"/y":{}}}`))
	if err != nil || len(issues) != 0 || len(all) != 2 || all["a"].Command != "everywhere" || all["b"].Command != "y" {
		t.Errorf("%v %v %v", all, issues, err)
	}
	if all, _, err := ParseClients([]byte(`{"projects":{"/x":{"mcpServers":{"b":{"command":"y"}}}}}`)); err != nil || len(all) != 1 {
		t.Errorf("%v %v", all, err)
	}
}
