package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestMCPImportAndExport(t *testing.T) {
	t.Parallel()
	u := newUser(t, "mcp:\n  servers:\n    # kept\n    mine: {command: x}\n")
	u.write("theirs.json", `{"mcpServers": {
		"mine": {"command": "npx", "args": ["-y", "pkg"]},
		"a b": {"type": "sse", "url": "https://example.com/sse", "headers": {"Authorization": "Bearer ${TOKEN}"}}
	}}`)
	theirs := filepath.Join(u.home, "theirs.json")
	before := u.config()
	u.run("mcp", "import", theirs).want(t, 1, "already in", "mine", "--force")
	r := u.run("mcp", "import", theirs, "--force", "--dry-run")
	r.want(t, 0, `"a b" becomes`)
	if !strings.HasPrefix(r.stdout, "Would import 2 MCP servers to ") || u.config() != before {
		t.Errorf("%s\n%s", r.stdout, u.config())
	}
	r = u.run("mcp", "import", theirs, "--force")
	r.want(t, 0, `"a b" becomes`)
	if !strings.HasPrefix(r.stdout, "Imported 2 MCP servers to ") {
		t.Error(r.stdout)
	}
	all := u.run("mcp", "list", "--json").inJSON(t)
	likeJSON(t, all["mine"], `{"command": "npx", "args": ["-y", "pkg"]}`)
	if len(all) != 2 {
		t.Error(all)
	}
	after := u.config()
	for _, wrong := range []string{
		`{`, `{"mcpServers": 1}`, `{"mcpServers": {}}`, `{"mcpServers": {"x": {}}}`,
		`{"mcpServers": {"x y": {"command": "a"}, "x  y": {"command": "b"}, "x+y": {"command": "b"}, "x/y": {"command": "b"}}}`,
	} {
		if r := u.runIn(wrong, "mcp", "import", "-"); r.code != 1 && r.code != 2 {
			t.Errorf("%s: exit %d\n%s", wrong, r.code, r.stderr)
		}
	}
	if u.config() != after {
		t.Error("a refused import has changed the file")
	}
	for _, client := range []string{"claude", "cursor", "gemini"} {
		r := u.run("mcp", "export", client)
		r.want(t, 0)
		servers, _ := r.inJSON(t)["mcpServers"].(map[string]any)
		if len(servers) != 2 {
			t.Errorf("%s: %s", client, r.stdout)
		}
	}
	r = u.run("mcp", "export", "codex", "mine")
	r.want(t, 0)
	if !strings.Contains(r.stdout, "[mcp_servers.mine]") {
		t.Error(r.stdout)
	}
	back := newUser(t, "")
	back.runIn(u.run("mcp", "export", "claude", "mine").stdout, "mcp", "import", "-").want(t, 0)
	likeJSON(t, back.run("mcp", "show", "mine", "--json").inJSON(t), `{"command": "npx", "args": ["-y", "pkg"]}`)
}

func TestMCPCompletion(t *testing.T) {
	t.Parallel()
	u := newUser(t, "mcp: {servers: {alpha: {command: x}, beta: {command: y}}}\n")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"show", ""}, []string{"alpha", "beta"}},
		{[]string{"configure", "alpha", "--approval", ""}, []string{"auto", "prompt", "approve"}},
		{[]string{"add", "x", "--transport", ""}, []string{"streamable-http", "sse"}},
		{[]string{"export", ""}, []string{"claude", "codex", "gemini", "cursor"}},
		{[]string{"export", "claude", "alpha", ""}, []string{"beta"}},
	} {
		r := u.run(append([]string{"__complete", "mcp"}, c.args...)...)
		var got []string
		for line := range strings.SplitSeq(strings.TrimSpace(r.stdout), "\n") {
			if word, _, _ := strings.Cut(line, "\t"); !strings.HasPrefix(word, ":") {
				got = append(got, word)
			}
		}
		if strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}
