package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMCPServers(t *testing.T) {
	c, warnings, err := Parse("c.yaml", []byte(`mcp:
  servers:
    docs:
      url: https://mcp.example.org/mcp
      auth: oauth
      oauth: {scope: docs.read, clientId: jetclaw, clientSecret: "file:keys/docs"}
      headers: {X-Api-Key: "env:DOCS_KEY"}
      sslVerify: true
      requestTimeoutMs: 20000
      toolFilter: {include: [search, "read_*"]}
      approval: auto
      enabled: false
    files:
      command: node
      args: [server.js, "${HOME}/docs", "--token", "${FILES_TOKEN}"]
      env: {PLAIN: "1", TOKEN: "env:FILES_TOKEN"}
`))
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	docs, files := c.MCP.Servers["docs"], c.MCP.Servers["files"]
	if docs.OAuth.ClientSecret != "file:keys/docs" || docs.IsEnabled() || !docs.VerifiesTLS() || docs.RequestTimeoutMs != 20000 ||
		docs.ToolFilter.Include[1] != "read_*" || docs.ApprovalMode() != "auto" || files.Args[1] != "${HOME}/docs" || files.Env["PLAIN"] != "1" {
		t.Errorf("%#v\n%#v", docs, files)
	}
	var refs []string
	for _, s := range c.Secrets() {
		refs = append(refs, s.String())
	}
	if want := []string{"env:DOCS_KEY", "env:FILES_TOKEN", "file:keys/docs"}; !slices.Equal(refs, want) {
		t.Errorf("secrets %v, want %v", refs, want)
	}
}

func TestMCPProblems(t *testing.T) {
	for in, want := range map[string]string{
		"mcp: {servers: {a b: {command: x}}}":                                  "c.yaml:1:22: mcp.servers.a b: a name has 1 to 64 letters, digits, - and _, and begins with a letter or a digit",
		"mcp: {servers: {a: {}}}":                                              "c.yaml:1:20: mcp.servers.a: needs command or url",
		"mcp: {servers: {a:}}":                                                 "c.yaml:1:17: mcp.servers.a: needs command or url",
		"mcp: {server: {}}":                                                    `c.yaml:1:7: mcp.server: unknown key; did you mean "servers"?`,
		"mcp: {servers: {a: {command: x, arg: [y]}}}":                          `c.yaml:1:33: mcp.servers.a.arg: unknown key; did you mean "args"?`,
		"mcp: {servers: {a: {command: x, args: y}}}":                           "c.yaml:1:39: mcp.servers.a.args: this is text, but a list ([a, b]) is expected",
		"mcp: {servers: {a: {command: x, env: {PORT: 1}}}}":                    "c.yaml:1:45: mcp.servers.a.env.PORT: this is a number, but text is expected; put it in quotes",
		"mcp: {servers: {a: {url: \"ftp://hunter22\"}}}":                       "c.yaml:1:26: mcp.servers.a.url: must be an address as https://host/path",
		"mcp: {servers: {a: {command: x, toolFilter: {include: ['']}}}}":       "c.yaml:1:56: mcp.servers.a.toolFilter.include[0]: must be the name of one tool, in which * stands for anything",
		"mcp:\n  servers:\n    a:\n      url: https://h\n      clientKey: k\n": "c.yaml:4:7: mcp.servers.a.clientCert: and clientKey go together; one of them is missing",
	} {
		_, _, err := Parse("c.yaml", []byte(in))
		if err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", in, err, want)
		}
	}
}

func TestMCPWarnings(t *testing.T) {
	_, warnings, err := Parse("c.yaml", []byte(`mcp:
  servers:
    a:
      command: node
      args: [x, --api-key=hunter2hunter2]
      env:
        NODE_OPTIONS: --require=/x
        API_TOKEN: hunter2hunter2
    b: {url: "http://mcp.example.org/", sslVerify: false, enabled: false, headers: {Authorization: "Bearer hunter2hunter2"}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	want := []string{
		"c.yaml:7:23: mcp.servers.a.env.NODE_OPTIONS: env NODE_OPTIONS is blocked for stdio servers and will be ignored",
		"c.yaml:5:17: mcp.servers.a.args[1]: contains a literal sensitive value; write ${NAME}, and put the value into the environment variable NAME",
		"c.yaml:8:20: mcp.servers.a.env.API_TOKEN: contains a literal sensitive value; write env:NAME or file:PATH",
		"c.yaml:9:100: mcp.servers.b.headers.Authorization: contains a literal sensitive value; write env:NAME or file:PATH",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMCPIsShownWithoutSecrets(t *testing.T) {
	c, _, err := Parse("c.yaml", []byte(`mcp: {servers: {a: {command: x, env: {API_TOKEN: hunter2hunter2, OTHER: "env:OTHER"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.YAML()
	if err != nil || strings.Contains(string(out), "hunter2") || !strings.Contains(string(out), "env:OTHER") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestValueOfReference(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "key"), []byte("two words\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := Resolver{Home: home, Lookup: func(name string) (string, bool) {
		v, ok := map[string]string{"SET": " two\nlines ", "EMPTY": ""}[name]
		return v, ok
	}}
	for ref, want := range map[string]struct{ value, warning, err string }{
		"env:SET":   {value: " two\nlines "},
		"env:EMPTY": {err: "env:EMPTY is not set; export EMPTY=…"},
		"file:key":  {value: "two words", warning: "other users of this machine can read the secret"},
		"file:none": {err: "file:none: " + filepath.Join(home, "none") + ": no such file or directory"},
		"env:":      {err: "a reference is written as env:NAME or file:PATH"},
		"key":       {err: "a reference is written as env:NAME or file:PATH"},
	} {
		value, warning, err := r.Value(ref)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if value != want.value || text != want.err || !strings.Contains(warning, want.warning) || want.warning == "" && warning != "" {
			t.Errorf("%s: %q %q %v", ref, value, warning, err)
		}
	}
}
