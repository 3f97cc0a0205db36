package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// mcpSeen is a part of what `mcp status --json` says of a server.
type mcpSeen struct {
	Name       string
	OK         bool
	State      *string // nil: no jetclaw runs
	AuthStatus *struct{ State string }
}

func (u *user) mcpStatus() map[string]mcpSeen {
	u.t.Helper()
	r := u.run("mcp", "status", "--json")
	r.want(u.t, 0)
	var got struct{ Servers []mcpSeen }
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		u.t.Fatal(err)
	}
	all := map[string]mcpSeen{}
	for _, e := range got.Servers {
		all[e.Name] = e
	}
	return all
}

// TestMCPAtADaemon asks a running jetclaw, which takes up what changes.
func TestMCPAtADaemon(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+httpYAML(freeAddress(t))+fakeMCPYAML(t, map[string]string{"good": "good", "leaves": "leaves"}))
	if e := u.mcpStatus()["good"]; e.State != nil {
		t.Errorf("without a daemon: %s", *e.State)
	}
	d := u.start()
	if e := u.mcpStatus()["good"]; e.State == nil || *e.State == "" || !e.OK {
		t.Errorf("%+v", e)
	}
	r := u.run("mcp", "probe", "good", "--json")
	r.want(t, 0)
	if !strings.Contains(r.stdout, `"good__look"`) {
		t.Error(r.stdout)
	}
	r = u.run("mcp", "probe", "leaves")
	r.want(t, 1, `MCP probe failed for "leaves"`)
	if !strings.Contains(r.stdout, "stderr: cannot log in with") {
		t.Error(r.stdout)
	}
	r = u.run("mcp", "reload")
	r.want(t, 0)
	if !strings.HasPrefix(r.stdout, "Reloaded 2 MCP servers: good, leaves.\n") {
		t.Errorf("%q", r.stdout)
	}
	u.run("mcp", "add", "more", "--no-probe", "--", "/no/such/program").want(t, 0, "the running jetclaw takes this up by itself")
	r = u.run("mcp", "reload")
	r.want(t, 0)
	if !strings.HasPrefix(r.stdout, "Reloaded 3 MCP servers: good, leaves, more.\n") {
		t.Errorf("%q", r.stdout)
	}
	if e := u.mcpStatus()["more"]; e.State == nil {
		t.Errorf("%+v", e)
	}
	u.run("mcp", "probe", "more").want(t, 1, "not found")
	d.kill()
	r = u.run("mcp", "status")
	r.want(t, 0, "note: no jetclaw has said how the servers are now")
	if !strings.Contains(r.stdout, "\n- good: stdio\n") {
		t.Error(r.stdout)
	}
	u.run("mcp", "probe", "good").want(t, 0) // by this process then
}
