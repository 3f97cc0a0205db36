package config

import (
	"slices"
	"strings"
	"testing"
)

// TestAClientMayUseNothing unless somebody has written what, wherever in its section that stands.
func TestAClientMayUseNothing(t *testing.T) {
	for in, want := range map[string]string{
		"agents: {claude: {client: true}}\n":                                  "",
		"agents: {claude: {client: true, tools: }}\n":                         "",
		"agents: {claude: {client: true, tools: {allow: }}}\n":                "",
		"agents: {claude: {client: true, tools: {allow: []}}}\n":              "",
		"agents: {claude: {tools: {deny: [exec]}, client: true}}\n":           "",
		"agents:\n  claude:\n    tools:\n      deny: [a]\n    client: true\n": "",
		"agents: {claude: {tools: {allow: [\"*\"]}, client: true}}\n":         "*",
		"agents: {claude: {client: true, tools: {allow: [now, read_*]}}}\n":   "now read_*",
		"agents: {claude: {client: false}}\n":                                 "*",
		"agents: {claude: }\n":                                                "*",
	} {
		c := parse(t, in)
		if got := strings.Join(c.Agents["claude"].Tools.Allow, " "); got != want || c.Agents["claude"].Workspace != "workspace" {
			t.Errorf("%s: %+v", in, c.Agents["claude"])
		}
		if got := strings.Join(c.Agents[MainAgent].Tools.Allow, " "); got != "*" {
			t.Errorf("%s: main has %q", in, got)
		}
		written, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if again := parse(t, string(written)); !slices.Equal(again.Agents["claude"].Tools.Allow, c.Agents["claude"].Tools.Allow) {
			t.Errorf("%s: as it is shown, %s, it is another one", in, written)
		}
	}
}

func TestClients(t *testing.T) {
	const none = ": a client agent has none: it is a program outside of jetclaw, with a model of its own; leave it out, or client: true"
	const ordered = ": the calls of a client agent are made one by one, in their order; leave it out"
	for in, want := range map[string]string{
		"agents: {x: {client: true, model: offline}}\n":                                          "c.yaml:1:35: agents.x.model" + none,
		"agents: {x: {client: true, fallbacks: []}}\n":                                           "c.yaml:1:39: agents.x.fallbacks" + none,
		"agents: {x: {client: true, instructions: be kind}}\n":                                   "c.yaml:1:42: agents.x.instructions" + none,
		"agents: {x: {client: true, budget: {tokens: 5}}}\n":                                     "c.yaml:1:36: agents.x.budget" + none,
		"agents: {x: {client: true, queue: steer}}\n":                                            "c.yaml:1:35: agents.x.queue" + ordered,
		"agents: {x: {client: true, queues: {mcp: interrupt}}}\n":                                "c.yaml:1:42: agents.x.queues.mcp" + ordered,
		"agents: {main: {client: true}}\n":                                                       "c.yaml:1:25: agents.main.client: the main agent stands in for agents that are not configured",
		"models: {providers: {relay: {}}}\n":                                                     "models.providers.relay: this name belongs to what stands in",
		"models: {default: relay/client}\n":                                                      `models.default: no provider "relay" under models.providers`,
		"agents: {x: {client: true}}\nchannels: {telegram: {b: {token: \"env:T\", agent: x}}}\n": "channels.telegram.b.agent: this is a client agent",
	} {
		if _, _, err := Parse("c.yaml", []byte(in)); !contains(err, want) {
			t.Errorf("%s: %v", in, err)
		}
	}
	_, warnings, err := Parse("c.yaml", []byte("agents: {x: {client: true, queue: followup, queues: {mcp: followup}}, y: {queues: {mcp: steer}}}\n"))
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].String(), "agents.x.client: it may use no tool yet") {
		t.Errorf("%v, %v", warnings, err)
	}
}
