// Package models decides which models can answer, and which of them does where nobody says.
//
// The default is the first of these that is there:
//
//	models.default, agents.main.model        of the configuration
//	OPENAI_API_KEY or OPENAI_BASE_URL        with OPENAI_MODEL; an error when they cannot be used
//	ANTHROPIC_API_KEY                        with ANTHROPIC_BASE_URL and ANTHROPIC_MODEL; the same
//	a local OpenAI-compatible server         Ollama, llama.cpp or LM Studio on its usual loopback port
//	the offline model                        repeats what it is told, needs nothing
//
// Besides it, all configured providers can be chosen, and both of the environment where it is asked. A model that
// somebody asked for (as a default, a fallback or an agent's) is never replaced by another one: without its key nothing
// starts. A provider that nobody names is only left out, with a note.
//
// Nothing is asked over the network but the local servers, and an OPENAI_BASE_URL without OPENAI_MODEL; and those only
// for GET /v1/models: the choice costs no tokens.
package models

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
)

// API is the protocol that a provider speaks.
type API string

const (
	OpenAI    API = "openai"
	Anthropic API = "anthropic"
	Offline   API = "offline"
)

// Provider is one that can be used.
type Provider struct {
	API     API
	BaseURL string // "" for the offline model
	Key     string `json:"-"` // a secret; "" for none
	Context int    // tokens of its models' window; 0: unknown
	Vendor  string // "openai", "anthropic": that company's own API, whose prices are known; "offline"; else ""
}

// String leaves the key out.
func (p Provider) String() string {
	if p.API == Offline {
		return "built in"
	}
	return fmt.Sprintf("%s API at %s", p.API, p.BaseURL)
}

// GoString keeps %#v from showing the key.
func (p Provider) GoString() string { return p.String() }

// Agent is which models answer for one agent.
type Agent struct {
	Model     string
	Fallbacks []string // asked in this order when the model cannot answer; the model is not among them
}

// Setup is all that can answer. Models are written as references, provider/model, in the canonical form
// (config.CanonicalModel), and the provider of each is in Providers.
type Setup struct {
	Providers map[string]Provider // "offline" is always there
	Default   string              // of agents without a model of their own
	Fallbacks []string            // of agents without fallbacks of their own
	Agents    map[string]Agent    // the configured ones, main included
	Named     []string            // each model that is named anywhere, once: the default, fallbacks, those of agents
	Reason    string              // where the main agent's model comes from: "OPENAI_API_KEY", "models.default"
}

// Agent is which models answer for an agent, configured or not.
func (s Setup) Agent(name string) Agent {
	if a, ok := s.Agents[name]; ok {
		return a
	}
	return Agent{Model: s.Default, Fallbacks: s.Fallbacks}
}

// Find is the provider of a reference and the model's name there.
func (s Setup) Find(ref string) (p Provider, model string, ok bool) {
	name, model, _ := strings.Cut(config.CanonicalModel(ref), "/")
	p, ok = s.Providers[name]
	return p, model, ok && model != ""
}

// Names are those of the providers, sorted.
func (s Setup) Names() []string { return slices.Sorted(maps.Keys(s.Providers)) }

// Describe says what a model is and where, without its key.
func (s Setup) Describe(ref string) string {
	ref = config.CanonicalModel(ref)
	p, _, ok := s.Find(ref)
	switch {
	case !ok:
		return ref + " (there is no such provider)"
	case p.API == Offline:
		return ref + " (built in: it only repeats what it is told)"
	}
	return ref + " at " + p.BaseURL
}

// String says which model answers for the main agent, where it is and why.
func (s Setup) String() string {
	ref := s.Agent(config.MainAgent).Model
	if p, _, _ := s.Find(ref); p.API == Offline {
		return s.Describe(ref)
	}
	return s.Describe(ref) + " (" + s.Reason + ")"
}

// GoString keeps %#v from showing keys.
func (s Setup) GoString() string { return s.String() }

// Addresses of the APIs, and the models that are asked where nobody says which.
const (
	openAIBase     = "https://api.openai.com/v1"
	openAIModel    = "gpt-4o-mini"
	anthropicBase  = "https://api.anthropic.com"
	anthropicModel = "claude-sonnet-5-5"
)

// provider completes one with what its API implies.
func provider(api API, base, key string, context int) Provider {
	switch {
	case api == Anthropic && base == "":
		base = anthropicBase
	case api == Anthropic: // its client adds /v1, which people write too, as for the other API
		base = strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1")
	case base == "":
		base = openAIBase
	}
	return Provider{API: api, BaseURL: base, Key: key, Context: context, Vendor: vendor(base)}
}

// vendor goes by the host alone: a proxy with the same API may ask for other prices.
func vendor(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	switch strings.ToLower(u.Hostname()) {
	case "api.openai.com":
		return "openai"
	case "api.anthropic.com":
		return "anthropic"
	}
	return ""
}
