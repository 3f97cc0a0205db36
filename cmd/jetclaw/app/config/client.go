package config

import (
	"maps"
	"slices"
)

// allowNothing takes the "*" away that all agents start from, where the agent turns out to be a client and its section does not say
// what it may use: nobody here has instructed it, so that it may do what somebody has written down, and nothing else.
func (c *Config) allowNothing() {
	for name, a := range c.Agents {
		if _, written := c.at["agents."+name+".tools.allow"]; a.Client && !written {
			a.Tools.Allow = []string{}
			c.Agents[name] = a
		}
	}
}

// client checks an agent that is a program outside: it thinks for itself, so that nothing can be said about how.
func (k *checker) client(name, path string, a Agent) {
	const why = "a client agent has none: it is a program outside of jetclaw, with a model of its own"
	const hint = "leave it out, or client: true"
	if name == MainAgent {
		k.fail(path+".client", "the main agent stands in for agents that are not configured, and cannot be a program outside",
			"give it one of its own, as in agents: {claude: {client: true}}")
	}
	for setting, set := range map[string]bool{
		"model": a.Model != "", "fallbacks": a.Fallbacks != nil, "instructions": a.Instructions != "", "budget": a.Budget != (Budget{}),
	} {
		if set {
			k.fail(path+"."+setting, why, hint)
		}
	}
	const ordered = "the calls of a client agent are made one by one, in their order"
	if a.Queue != DefaultAgent().Queue && slices.Contains(queueModes, a.Queue) {
		k.fail(path+".queue", ordered, "leave it out")
	}
	for _, channel := range slices.Sorted(maps.Keys(a.Queues)) {
		if mode := a.Queues[channel]; mode != DefaultAgent().Queue && slices.Contains(queueModes, mode) {
			k.fail(path+".queues."+channel, ordered, "leave it out")
		}
	}
	if len(a.Tools.Allow) == 0 {
		k.warn(path+".client", "it may use no tool yet: name those that the program may use in tools.allow")
	}
}
