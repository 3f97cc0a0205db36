// Package models decides which model answers.
//
// It is the first of these that is there:
//
//	agents.main.model, models.default        of the configuration
//	OPENAI_API_KEY or OPENAI_BASE_URL        with OPENAI_MODEL; an error when they cannot be used
//	ANTHROPIC_API_KEY                        not in this build yet: said, and passed by
//	a local OpenAI-compatible server         Ollama, llama.cpp or LM Studio on its usual loopback port
//	the offline model                        repeats what it is told, needs nothing
//
// Nothing but the last three is asked over the network, and only GET /v1/models: the choice costs no tokens.
package models

import (
	"context"
	"fmt"
	"strings"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
)

// API is the protocol that a model speaks.
type API string

const (
	OpenAI  API = "openai"
	Offline API = "offline"
)

// Choice is one model and why it was chosen.
type Choice struct {
	API      API
	Provider string // first half of its name
	Model    string
	BaseURL  string // "" for the offline model
	Key      string // a secret; "" for none
	Reason   string // where the choice comes from: "OPENAI_API_KEY", "models.default"
}

// Name is "provider/model".
func (c Choice) Name() string { return c.Provider + "/" + c.Model }

// String says which model answers, where it is and why, without its key.
func (c Choice) String() string {
	if c.API == Offline {
		return c.Name() + " (built in: it only repeats what it is told)"
	}
	return fmt.Sprintf("%s at %s (%s)", c.Name(), c.BaseURL, c.Reason)
}

// GoString keeps %#v from showing the key.
func (c Choice) GoString() string { return c.String() }

// Source is what a choice is made from.
type Source struct {
	Config     *config.Config
	ConfigFile string
	Resolver   config.Resolver // of secrets, and the environment
	Local      []Local         // servers to look for; LocalServers as a rule
}

// Choose decides. The notes are for the person in front of it. An error is a
// *config.SecretError or an *EnvError: a model that somebody asked for is never replaced by another one.
func Choose(ctx context.Context, s Source) (Choice, []string, error) {
	c := chooser{Source: s}
	ref, path := s.Config.Model()
	choice, err := c.choose(ctx, path, ref)
	return choice, c.notes, err
}

type chooser struct {
	Source
	notes []string
}

func (c *chooser) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

func (c *chooser) choose(ctx context.Context, path, ref string) (Choice, error) {
	if ref == "" {
		return c.environment(ctx)
	}
	provider, model, _ := strings.Cut(ref, "/")
	if provider == config.Offline {
		return offline(path), nil
	}
	p := c.Config.Models.Providers[provider]
	warnings, err := c.Config.Resolve(c.Resolver, c.ConfigFile, "models.providers."+provider+".api_key", &p.APIKey)
	if err != nil {
		return Choice{}, err
	}
	for _, w := range warnings {
		c.note("%s", w)
	}
	base := p.BaseURL
	if base == "" {
		base = openAIBase
	}
	return Choice{API: OpenAI, Provider: provider, Model: model, BaseURL: base, Key: p.APIKey.Value(), Reason: path}, nil
}

const (
	openAIBase  = "https://api.openai.com/v1"
	openAIModel = "gpt-4o-mini" // where nobody says which
)

func offline(reason string) Choice {
	return Choice{API: Offline, Provider: config.Offline, Model: "echo", Reason: reason}
}

// environment looks at the environment, then around on this machine.
func (c *chooser) environment(ctx context.Context) (Choice, error) {
	if err := CheckEnvironment(c.Resolver); err != nil {
		return Choice{}, err
	}
	key, base := variable(c.Resolver, envKey), variable(c.Resolver, envBase)
	if key != "" || base != "" {
		return c.openAI(ctx, key, base, variable(c.Resolver, "OPENAI_MODEL")), nil
	}
	if anthropic := variable(c.Resolver, "ANTHROPIC_API_KEY"); anthropic != "" {
		c.Resolver.Known(anthropic)
		c.note("ANTHROPIC_API_KEY is set, but the Anthropic API is not in this build yet")
	}
	if choice, ok := probe(ctx, c.Local); ok {
		return choice, nil
	}
	c.note("no model is configured and no local server answers: set OPENAI_API_KEY, or start Ollama, llama.cpp or LM Studio")
	return offline("nothing else is there"), nil
}

func (c *chooser) openAI(ctx context.Context, key, base, model string) Choice {
	choice := Choice{API: OpenAI, Provider: "openai", Model: model, BaseURL: base, Key: key, Reason: envKey}
	if key == "" {
		choice.Reason = envBase
	}
	if base == "" {
		choice.BaseURL = openAIBase
	}
	switch {
	case model != "":
	case base == "":
		choice.Model = openAIModel
		c.note("OPENAI_MODEL is not set: %s", openAIModel)
	default:
		choice.Model = "default"
		if id, err := firstModel(ctx, choice.BaseURL, key); err == nil {
			choice.Model = id
		} else {
			c.note("OPENAI_MODEL is not set and %s does not list its models: asking it for %q", base, choice.Model)
		}
	}
	return choice
}
