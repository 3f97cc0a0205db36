package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
)

// Agent is one persona with its own sessions; its name is the first part of their ids.
type Agent struct {
	Client       bool              `yaml:"client"`       // it is a program outside (jetclaw mcp serve --tools): it has no model, and what tools.allow names
	Model        string            `yaml:"model"`        // provider/model; default models.default
	Fallbacks    []string          `yaml:"fallbacks"`    // default models.fallbacks; [] for none
	Instructions string            `yaml:"instructions"` // the system prompt
	Workspace    string            `yaml:"workspace"`    // folder, relative to the home
	Queue        string            `yaml:"queue"`        // what a message during a turn does: followup, collect, steer, interrupt
	Queues       map[string]string `yaml:"queues"`       // the same for one channel: telegram, http, terminal, mcp
	Tools        AgentTools        `yaml:"tools"`
	Budget       Budget            `yaml:"budget"` // of one day
}

// AgentTools chooses what a model, or a client, is offered.
type AgentTools struct {
	Allow []string `yaml:"allow"` // by name, with * and ?; default ["*"], and [] for a client
	Deny  []string `yaml:"deny"`
}

// Budget is what one day, counted in UTC, may use. 0 sets no limit.
type Budget struct {
	Tokens int   `yaml:"tokens"`
	Money  Money `yaml:"money"`
}

// MainAgent is the agent that exists without being configured.
const MainAgent = "main"

// DefaultAgent is what an agent is where its section says nothing. A client is allowed no tool there (see allowNothing).
func DefaultAgent() Agent {
	return Agent{Workspace: "workspace", Queue: "followup", Tools: AgentTools{Allow: []string{"*"}}}
}

// Agent is an agent by name. One that is not configured is as DefaultAgent.
func (c *Config) Agent(name string) Agent {
	if a, ok := c.Agents[name]; ok {
		return a
	}
	return DefaultAgent()
}

// Model is the model that the main agent answers with and the setting that names it; "" when the configuration leaves
// the choice open.
func (c *Config) Model() (ref, path string) { return c.ModelOf(MainAgent) }

// ModelOf is the same for any agent: its own, else models.default, else what the main agent has.
func (c *Config) ModelOf(agent string) (ref, path string) {
	switch main := c.Agents[MainAgent].Model; {
	case c.Agents[agent].Model != "":
		return c.Agents[agent].Model, "agents." + agent + ".model"
	case c.Models.Default == "" && main != "":
		return main, "agents." + MainAgent + ".model"
	}
	return c.Models.Default, "models.default"
}

// FallbacksOf are the models that stand in for the one of an agent, in their order.
func (c *Config) FallbacksOf(agent string) []string {
	refs, own := c.Models.Fallbacks, c.Agents[agent].Fallbacks
	if own != nil {
		refs = own
	}
	first, _ := c.ModelOf(agent)
	return slices.DeleteFunc(slices.Clone(refs), func(ref string) bool { return CanonicalModel(ref) == CanonicalModel(first) })
}

// QueueOf is the queue mode of an agent's sessions in a channel.
func (c *Config) QueueOf(agent, channel string) string {
	a := c.Agent(agent)
	if mode, ok := a.Queues[channel]; ok && mode != "" {
		return mode
	}
	return a.Queue
}

// queueModes are the names that the turns service knows.
var queueModes = []string{"followup", "collect", "steer", "interrupt"}

// channels are the ways in that a queue mode can be chosen for.
var channels = []string{"http", "mcp", "telegram", "terminal"}

func (k *checker) agents() {
	for _, name := range slices.Sorted(maps.Keys(k.c.Agents)) {
		a, path := k.c.Agents[name], "agents."+name
		if !nameOf(name, "_-") {
			k.fail(path, "the name of an agent is 1 to 64 of A-Z a-z 0-9 _ -", "it begins the ids of its sessions")
		}
		if a.Client {
			k.client(name, path, a)
		} else {
			if a.Model != "" {
				k.model(path+".model", a.Model)
			}
			first, _ := k.c.ModelOf(name)
			k.fallbacks(path+".fallbacks", a.Fallbacks, first)
			k.budget(path+".budget", a.Budget)
		}
		k.workspace(path+".workspace", a.Workspace)
		k.oneOf(path+".queue", a.Queue, queueModes...)
		for _, channel := range slices.Sorted(maps.Keys(a.Queues)) {
			at := path + ".queues." + channel
			if !slices.Contains(channels, channel) {
				k.fail(at, "there is no such channel", suggest.Hint(channel, channels))
			} else {
				k.oneOf(at, a.Queues[channel], queueModes...)
			}
		}
	}
}

// workspace keeps the folder that an agent works in away from those that it must never reach: the home itself, and what holds
// keys, conversations and the configuration.
func (k *checker) workspace(path, name string) {
	if filepath.IsAbs(name) || name == "" {
		return
	}
	name = filepath.Clean(name)
	first, _, _ := strings.Cut(name, string(filepath.Separator))
	switch {
	case name == "." || !filepath.IsLocal(name):
		k.fail(path, "must be a folder inside of the home, or an absolute path", "as in workspace")
	case slices.Contains(inUse, strings.ToLower(first)):
		k.fail(path, first+" in the home holds other things", "choose another folder, as in workspace")
	}
}

// inUse are folders of the home with a purpose of their own.
var inUse = []string{"data", "keys", "run", "index", "archive"}

// nameOf says whether a name has 1 to 64 letters, digits and others of a set, all of ASCII.
func nameOf(name, others string) bool { return len(name) <= 64 && only(name, others) }
