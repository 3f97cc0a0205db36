package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/services/builtin"
)

// names are those of tools, with the names of their arguments.
type names map[string][]string

func knownTools() names {
	n := names{"read_skill": {"name"}} // the turns answer it themselves
	for _, t := range builtin.Known() {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if json.Unmarshal(t.Schema, &schema) == nil {
			n[t.Name] = slices.Sorted(maps.Keys(schema.Properties))
		}
	}
	return n
}

// ruleWarnings finds rules that never hold, as far as that can be known: a tool, an argument or an agent that there is not.
// A deny that is mistyped denies nothing. Tools of servers have names of their own, so a strange name is no error.
func ruleWarnings(c *config.Config, file string) []config.Warning {
	var out []config.Warning
	warn := func(path, format string, args ...any) {
		out = append(out, c.WarningAt(file, path, fmt.Sprintf(format, args...)))
	}
	known := knownTools()
	tool := func(path, name string) {
		if _, ok := known[name]; !ok && !wild(name) && name != "" {
			warn(path, "no built-in tool is called %s: this holds for nothing unless a server offers one; %s",
				name, suggest.Hint(name, slices.Sorted(maps.Keys(known))))
		}
	}
	agents := append(slices.Sorted(maps.Keys(c.Agents)), config.MainAgent)
	for _, list := range []struct {
		name  string
		rules []config.Rule
	}{{"deny", c.Policy.Deny}, {"ask", c.Policy.Ask}, {"allow", c.Policy.Allow}} {
		for i, r := range list.rules {
			path := fmt.Sprintf("policy.%s[%d]", list.name, i)
			tool(path, r.Tool)
			for _, arg := range slices.Sorted(maps.Keys(r.Args)) {
				first, _, _ := strings.Cut(arg, ".")
				if has, ok := known[r.Tool]; ok && !wild(first) && !slices.Contains(has, first) {
					warn(path, "%s has no argument %s: this rule never holds; %s", r.Tool, first, suggest.Hint(first, has))
				}
			}
			if r.Agent != "" && !wild(r.Agent) && !slices.Contains(agents, r.Agent) {
				warn(path, "there is no agent %s: this rule never holds; %s", r.Agent, suggest.Hint(r.Agent, agents))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		t := c.Agents[name].Tools
		for i, pattern := range t.Allow {
			tool(fmt.Sprintf("agents.%s.tools.allow[%d]", name, i), pattern)
		}
		for i, pattern := range t.Deny {
			tool(fmt.Sprintf("agents.%s.tools.deny[%d]", name, i), pattern)
		}
	}
	return out
}

func wild(pattern string) bool { return strings.ContainsAny(pattern, "*?") }
