package models

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
)

// variables say how the environment asks for the models of a provider.
type variables struct {
	provider         string // its name
	api              API
	key, base, model string // names of variables
	keyless          bool   // the base alone asks for it: many servers with this API need no key
}

// inEnvironment is in the order in which they become the default.
var inEnvironment = []variables{
	{"openai", OpenAI, "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", true},
	{"anthropic", Anthropic, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", false},
}

// candidate is a model that the environment asks for.
type candidate struct {
	variables
	ref    string // "" until it is known which model
	reason string
}

// EnvError says that a variable of the environment asks for a model that cannot be used. It never quotes the value.
type EnvError struct {
	Name   string
	Text   string
	Secret bool // the value is a key
}

func (e *EnvError) Error() string { return e.Name + " " + e.Text }

// CheckEnvironment looks at the variables that ask for a model, and asks nobody. The error joins what is wrong, each an
// *EnvError.
func CheckEnvironment(r config.Resolver) error {
	var wrong []error
	for _, v := range inEnvironment {
		wrong = append(wrong, v.check(r))
	}
	return errors.Join(wrong...)
}

func (v variables) check(r config.Resolver) error {
	key, base := variable(r, v.key), variable(r, v.base)
	if key != "" {
		r.Known(key)
	}
	if text := config.Unsendable(key); text != "" {
		return &EnvError{Name: v.key, Text: text + "; put nothing but the key there, or unset it", Secret: true}
	}
	if !v.asks(r) {
		return nil
	}
	if m := variable(r, v.model); m != "" && !printable(m) {
		return &EnvError{Name: v.model, Text: "is not the name of a model: it is too long, or holds a space or another character that none has"}
	}
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		like := provider(v.api, "", "", 0).BaseURL
		return &EnvError{Name: v.base, Text: "is not a URL as " + like + "; a key goes into " + v.key + ". Correct it, or unset it"}
	}
	return nil
}

func variable(r config.Resolver, name string) string {
	v, _ := r.Lookup(name)
	return strings.TrimSpace(v)
}

// asks says whether somebody wants this provider.
func (v variables) asks(r config.Resolver) bool {
	return variable(r, v.key) != "" || v.keyless && variable(r, v.base) != ""
}

// asked are the providers that the environment asks for; none where the configuration says which model answers.
func (r *resolver) asked() []variables {
	if ref, _ := r.Config.ModelOf(""); ref != "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(inEnvironment), func(v variables) bool { return !v.asks(r.Resolver) })
}

// environment takes what the environment asks for. A configured provider of the same name is the one that is meant; it
// is passed by when it was left out.
func (r *resolver) environment() {
	for _, v := range r.asked() {
		c := candidate{variables: v, reason: v.key}
		key, base := variable(r.Resolver, v.key), variable(r.Resolver, v.base)
		if key == "" {
			c.reason = v.base
		}
		if _, ok := r.Config.Models.Providers[v.provider]; !ok {
			r.providers[v.provider] = provider(v.api, base, key, 0)
		} else {
			c.reason = "models.providers." + v.provider
		}
		if _, ok := r.providers[v.provider]; ok {
			r.found = append(r.found, c)
		}
	}
}

// find is the default where the configuration has none: of the environment, of this machine, or offline.
func (r *resolver) find(ctx context.Context) (ref, reason string) {
	for i := range r.found {
		r.found[i].ref = r.found[i].provider + "/" + r.model(ctx, r.found[i], i == 0)
	}
	if len(r.found) > 0 {
		return r.found[0].ref, r.found[0].reason
	}
	if l, model, ok := probe(ctx, r.local()); ok {
		if _, configured := r.providers[l.Name]; !configured {
			r.providers[l.Name] = provider(OpenAI, l.BaseURL, "", 0)
		}
		return l.Name + "/" + model, "it runs on this machine"
	}
	hint := "set OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama, llama.cpp or LM Studio"
	if len(r.Config.Models.Providers) > 0 {
		hint = "set models.default to a model of a configured provider, " + hint
	}
	r.note("no model is configured and no local server answers: %s", hint)
	return config.OfflineModel, "nothing else is there"
}

// local are the servers to look for. A configured one of the same name elsewhere is not that server.
func (r *resolver) local() []Local {
	return slices.DeleteFunc(slices.Clone(r.Local), func(l Local) bool {
		_, configured := r.Config.Models.Providers[l.Name]
		return configured && strings.TrimRight(r.providers[l.Name].BaseURL, "/") != l.BaseURL
	})
}

// model is the name of the model to ask for. About one that is not the default nothing is said.
func (r *resolver) model(ctx context.Context, c candidate, isDefault bool) string {
	if model := variable(r.Resolver, c.variables.model); model != "" {
		return model
	}
	p, text, model := r.providers[c.provider], "", openAIModel
	switch {
	case p.API == Anthropic:
		model = anthropicModel
	case p.Vendor != "openai":
		id, err := firstModel(ctx, p.BaseURL, p.Key)
		if err == nil {
			return id
		}
		model, text = "default", " and "+p.BaseURL+" does not list its models"
	}
	if isDefault {
		r.note("%s is not set%s: asking for %q", c.variables.model, text, model)
	}
	return model
}
