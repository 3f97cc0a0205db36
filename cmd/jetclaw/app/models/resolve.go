package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
)

// Source is what a setup is made from.
type Source struct {
	Config     *config.Config
	ConfigFile string
	Resolver   config.Resolver // of secrets, and the environment
	Local      []Local         // servers to look for; LocalServers as a rule
}

// Resolve finds out what can answer. The notes are for the person in front of it. The error joins all that is wrong,
// each a *config.SecretError or an *EnvError.
func Resolve(ctx context.Context, s Source) (Setup, []string, error) {
	r := newResolver(s)
	if err := r.check(); err != nil {
		return Setup{}, nil, err
	}
	ref, reason := s.Config.ModelOf("") // an agent that has nothing of its own
	if ref == "" {
		ref, reason = r.find(ctx)
	}
	setup := r.setup(config.CanonicalModel(ref), reason)
	notes := make([]string, 0, len(r.warnings)+len(r.notes))
	for _, w := range r.warnings {
		notes = append(notes, w.String())
	}
	return setup, append(notes, r.notes...), nil
}

// Check is what Resolve says about the configuration and the environment; it asks nobody over the network.
func Check(s Source) ([]config.Warning, error) {
	r := newResolver(s)
	err := r.check()
	return r.warnings, err
}

type resolver struct {
	Source
	providers map[string]Provider
	found     []candidate // by the environment
	warnings  []config.Warning
	notes     []string
}

func newResolver(s Source) *resolver {
	return &resolver{
		Source: s, providers: map[string]Provider{config.Offline: {API: Offline, Vendor: config.Offline}},
	}
}

func (r *resolver) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// check does all that needs no network. An environment that is not asked has nothing wrong in it.
func (r *resolver) check() error {
	err := r.configured()
	if ref, _ := r.Config.ModelOf(""); ref == "" {
		err = errors.Join(err, CheckEnvironment(r.Resolver))
	}
	if err == nil {
		r.environment()
	}
	return err
}

// configured resolves the secrets of all configured providers.
func (r *resolver) configured() error {
	named := map[string]bool{}
	for _, ref := range r.refs() {
		name, _, _ := strings.Cut(ref, "/")
		named[name] = true
	}
	if asked := r.asked(); len(asked) > 0 {
		named[asked[0].provider] = true // it becomes the default
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(r.Config.Models.Providers)) {
		p := r.Config.Models.Providers[name]
		warnings, err := r.Config.Resolve(r.Resolver, r.ConfigFile, "models.providers."+name+".api_key", &p.APIKey)
		r.warnings = append(r.warnings, warnings...)
		switch {
		case err == nil:
			r.providers[name] = provider(API(p.API), p.BaseURL, p.APIKey.Value(), p.Context)
		case named[name]:
			wrong = append(wrong, err)
		default:
			r.leftOut(name, err)
		}
	}
	return errors.Join(wrong...)
}

func (r *resolver) leftOut(name string, err error) {
	w := config.Warning{File: r.ConfigFile, Path: "models.providers." + name, Text: err.Error()}
	if se, ok := errors.AsType[*config.SecretError](err); ok {
		w.Position, w.Path, w.Text = se.Position, se.Path, se.Ref+": "+se.Text
	}
	w.Text += ", so that no model of " + name + " can be chosen"
	r.warnings = append(r.warnings, w)
}

// refs are the models that the configuration names, in the order in which they are listed to people.
func (r *resolver) refs() []string {
	c := r.Config
	ref, _ := c.ModelOf("")
	refs := append([]string{ref}, c.Models.Fallbacks...)
	for _, name := range r.agents() {
		refs = append(append(refs, c.Agents[name].Model), c.Agents[name].Fallbacks...)
	}
	return slices.DeleteFunc(refs, func(ref string) bool { return ref == "" })
}

// agents are the names of the configured ones, main first.
func (r *resolver) agents() []string {
	return slices.SortedFunc(maps.Keys(r.Config.Agents), func(a, b string) int {
		if (a == config.MainAgent) != (b == config.MainAgent) {
			if a == config.MainAgent {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	})
}

// setup puts it together around the default.
func (r *resolver) setup(ref, reason string) Setup {
	c := r.Config
	s := Setup{
		Providers: r.providers, Default: ref, Fallbacks: chain(ref, c.Models.Fallbacks), Agents: map[string]Agent{}, Reason: reason,
	}
	for _, name := range r.agents() {
		model := ref
		if own := c.Agents[name].Model; own != "" {
			model = config.CanonicalModel(own)
		}
		s.Agents[name] = Agent{Model: model, Fallbacks: chain(model, c.FallbacksOf(name))}
	}
	if c.Agents[config.MainAgent].Model != "" {
		_, s.Reason = c.Model()
	}
	refs := append([]string{ref}, r.refs()...)
	for _, f := range r.found {
		refs = append(refs, f.ref)
	}
	s.Named = chain("", refs)
	return s
}

// chain is refs in the canonical form, each once, without the one that they stand in for.
func chain(first string, refs []string) []string {
	var out []string
	for _, ref := range refs {
		if ref = config.CanonicalModel(ref); ref != first && !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	return out
}
