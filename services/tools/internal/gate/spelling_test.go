package gate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/services/tools/call"
)

// What is denied is denied in every spelling that leads to the same.
func TestDeniedInEverySpelling(t *testing.T) {
	_, dir := house(t, Policy{})
	g, err := New(Config{Agents: map[string]Agent{MainAgent: {Workspace: dir}}, Policy: Policy{Deny: []Rule{
		{Tool: "read_file", Args: map[string]string{"path": dir + "/vault/*"}},
		{Tool: "fetch", Args: map[string]string{"url": "https://evil.example/*"}},
		{Tool: "fetch", Args: map[string]string{"url": "https://good.example/admin*"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for arg, rule := range map[string]string{
		"vault/a": "policy.deny[0]", "./x/../vault//a": "policy.deny[0]", dir + "/vault/a": "policy.deny[0]", "vaults/a": "level L0",
		"https://evil\u3002example/x": "policy.deny[1]", "https://ev\u00ADil.example/x": "policy.deny[1]", "https://ｅvil.example?x": "policy.deny[1]",
		"https://u@EVIL.example.:443": "policy.deny[1]", "https://evil.example.org/": "level L0",
		"https://good.example/x/../admin": "policy.deny[2]", "https://good.example//admin/": "policy.deny[2]",
		"https://good.example/./admin?q": "policy.deny[2]", "https://good.example/%2561dmin": "policy.deny[2]",
		"https://good.example/a/%2e%2e/admin": "policy.deny[2]", "https://good.example/a/admin": "level L0",
	} {
		name, key := "fetch", "url"
		if !strings.Contains(arg, "://") {
			name, key = "read_file", "path"
		}
		raw, err := json.Marshal(map[string]string{key: arg})
		if err != nil {
			t.Fatal(err)
		}
		if v := judged(t, g, name, string(raw), call.Taint{}); v.Rule != rule {
			t.Errorf("%q: %s by %s, want %s", arg, v.Effect, v.Rule, rule)
		}
	}
}
