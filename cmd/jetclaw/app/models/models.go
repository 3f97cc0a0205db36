// Package models decides which model answers.
//
// It is the first of these that is there:
//
//	agents.main.model, models.default        of the configuration
//	OPENAI_API_KEY or OPENAI_BASE_URL        with OPENAI_MODEL
//	ANTHROPIC_API_KEY                        not in this build yet: said, and passed by
//	a local OpenAI-compatible server         Ollama, llama.cpp or LM Studio on its usual loopback port
//	the offline model                        repeats what it is told, needs nothing
//
// Nothing but the last three is asked over the network, and only GET /v1/models: the choice costs no tokens.
package models

import (
	"context"
	"fmt"
	"net/url"
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

// Choose decides. The notes are for the person in front of it. An error is a *config.SecretError.
func Choose(ctx context.Context, s Source) (Choice, []string, error) {
	c := chooser{Source: s}
	path, ref := "agents."+config.MainAgent+".model", s.Config.Agents[config.MainAgent].Model
	if ref == "" {
		path, ref = "models.default", s.Config.Models.Default
	}
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
		return c.environment(ctx), nil
	}
	provider, model, _ := strings.Cut(ref, "/")
	if provider == config.Offline {
		return offline(path), nil
	}
	p := c.Config.Models.Providers[provider]
	if p.API == "anthropic" {
		c.note("%s is %s: the Anthropic API is not in this build yet", path, ref)
		return c.environment(ctx), nil
	}
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
func (c *chooser) environment(ctx context.Context) Choice {
	env := func(name string) string {
		v, _ := c.Resolver.Lookup(name)
		return strings.TrimSpace(v)
	}
	key, base := env("OPENAI_API_KEY"), env("OPENAI_BASE_URL")
	if key != "" {
		c.Resolver.Known(key)
	}
	if text := config.Unsendable(key); text != "" {
		c.note("OPENAI_API_KEY %s, and is passed by", text)
	} else if key != "" || base != "" {
		if choice, ok := c.openAI(ctx, key, base, env("OPENAI_MODEL")); ok {
			return choice
		}
	}
	if anthropic := env("ANTHROPIC_API_KEY"); anthropic != "" {
		c.Resolver.Known(anthropic)
		c.note("ANTHROPIC_API_KEY is set, but the Anthropic API is not in this build yet")
	}
	if choice, ok := probe(ctx, c.Local); ok {
		return choice
	}
	c.note("no model is configured and no local server answers: set OPENAI_API_KEY, or start Ollama, llama.cpp or LM Studio")
	return offline("nothing else is there")
}

func (c *chooser) openAI(ctx context.Context, key, base, model string) (Choice, bool) {
	choice := Choice{API: OpenAI, Provider: "openai", Model: model, BaseURL: base, Key: key, Reason: "OPENAI_API_KEY"}
	if key == "" {
		choice.Reason = "OPENAI_BASE_URL"
	}
	if base == "" {
		choice.BaseURL = openAIBase
	} else if u, err := url.Parse(base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		c.note("OPENAI_BASE_URL is not a URL as https://host/v1 (a key goes into OPENAI_API_KEY) and is passed by")
		return Choice{}, false
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
	return choice, true
}
