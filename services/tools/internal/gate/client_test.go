package gate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

// TestUsable: what is denied whatever its arguments are is not even listed.
func TestUsable(t *testing.T) {
	g, _ := house(t, Policy{Deny: []Rule{{Tool: "mail", Agent: "main"}, {Tool: "run", Args: map[string]string{"command": "*"}}}})
	all := append(offered(), toolv1.Catalogue{Executor: "zoo", Tools: []toolv1.Tool{{Name: "clock", Schema: object("", "")}}})
	for agent, want := range map[string]string{
		"main":    "read_file write_file move fetch search exec run broken tunnel",
		"unknown": "read_file write_file move fetch search exec run mail broken tunnel",
		"guest":   "read_file",
		"banned":  "",
		"outside": "",
		"reader":  "read_file",
	} {
		var names []string
		for _, c := range g.Usable(agent, all) {
			for _, tool := range c.Tools {
				names = append(names, tool.Name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s, want %s", agent, got, want)
		}
	}
	if len(all[0].Tools) != 7 || all[0].Tools[0].Name != "clock" {
		t.Error("what it was given is written to")
	}
	if g.Client("main") || g.Client("unknown") || !g.Client("reader") {
		t.Error("who is a client")
	}
}

// TestClientRemembers: what a program outside has read before is not known, so that it asks before anything leaves to where it likes.
func TestClientRemembers(t *testing.T) {
	g, _ := house(t, Policy{Allow: []Rule{{Tool: "*"}}})
	v := g.Judge(offered())(call.Question{
		Session: id(t, "fetcher"), Turn: "t1", Call: "c1", Tool: "fetch", Arguments: json.RawMessage(`{"url":"https://good.example/"}`),
	})
	if v.Effect != call.Ask || v.Rule != "trifecta" {
		t.Errorf("%s %s", v.Effect, v.Rule)
	}
}
