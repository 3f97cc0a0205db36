package gate

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/jetclaw/jetclaw/schemas/secret"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

// MainAgent stands in for agents that are not configured.
const MainAgent = "main"

// minSecret is the shortest secret that is looked for in arguments, in bytes.
const minSecret = 8

// Agent is what the gate knows about an agent.
type Agent struct {
	// Allow and Deny are globs over names of tools. Deny wins; no Allow at all means every tool, and for a Client none.
	Allow, Deny []string
	Workspace   string // folder, absolute; "" when the agent has none
	Client      bool   // it is a program outside, which nobody here has instructed
}

// Config is what a gate decides by, besides the catalogues.
type Config struct {
	Policy Policy
	Agents map[string]Agent // by name; MainAgent stands in for unknown ones
	// Private are globs over paths whose content is private, relative to the workspace or absolute. A folder stands for all
	// in it. A call that names one and sends it somewhere of the model's choice counts as private whatever was read before.
	Private []string
	// Secrets are known secrets, each of at least 8 bytes. No call that has one in its arguments runs.
	Secrets []string
}

// Gate judges calls. It may be used by many goroutines at once, and is never changed.
type Gate struct {
	config  Config
	known   secret.Known
	rules   string // digest of the policy
	cache   *cache
	prompts *prompts
}

// New makes a gate. It fails for a policy that is not valid, and for what it could not keep its promises with.
func New(c Config) (*Gate, error) {
	wrong := []error{c.Policy.Validate()}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		a := c.Agents[name]
		if a.Workspace != "" && !filepath.IsAbs(a.Workspace) {
			wrong = append(wrong, fmt.Errorf("agent %s: the workspace %q is no absolute path", name, a.Workspace))
		}
		for _, g := range append(slices.Clone(a.Allow), a.Deny...) {
			if err := pattern("agent "+name, g); err != nil {
				wrong = append(wrong, err)
			}
		}
	}
	for i, s := range c.Secrets {
		if len(s) < minSecret {
			wrong = append(wrong, fmt.Errorf("secret %d has %d bytes: one of less than %d would be found everywhere", i, len(s), minSecret))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	c.Agents = maps.Clone(c.Agents)
	for name, a := range c.Agents {
		a.Allow, a.Deny = slices.Clone(a.Allow), slices.Clone(a.Deny)
		if a.Workspace != "" {
			a.Workspace = filepath.Clean(a.Workspace)
		}
		c.Agents[name] = a
	}
	c.Private, c.Secrets = slices.Clone(c.Private), slices.Clone(c.Secrets)
	return &Gate{config: c, known: secret.Compile(c.Secrets), rules: c.Policy.digest(), cache: newCache(), prompts: newPrompts()}, nil
}

// With is the same gate with other rules.
func (g *Gate) With(p Policy) (*Gate, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	other := *g
	other.config.Policy, other.rules = p, p.digest()
	return &other, nil
}

func (g *Gate) agent(name string) Agent {
	if a, ok := g.config.Agents[name]; ok {
		return a
	}
	return g.config.Agents[MainAgent]
}

// Client says whether an agent is configured as a program outside.
func (g *Gate) Client(agent string) bool { return g.config.Agents[agent].Client }

// Usable are the catalogues with only those tools that an agent may use at all: none that is denied whatever its arguments are.
func (g *Gate) Usable(agent string, catalogues []toolv1.Catalogue) []toolv1.Catalogue {
	a, v := g.agent(agent), g.view(catalogues)
	never := func(t toolv1.Tool) bool {
		_, ok := a.may(t.Name)
		return !ok || v.offers[t.Name].twice || !t.Level.Known() || slices.ContainsFunc(g.config.Policy.Deny, func(r Rule) bool {
			return len(r.Args) == 0 && r.applies(t.Name, agent)
		})
	}
	var out []toolv1.Catalogue
	for _, c := range catalogues {
		if c.Tools = slices.DeleteFunc(slices.Clone(c.Tools), never); len(c.Tools) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// Judge is the judge for what is offered now. It is cheap to make.
func (g *Gate) Judge(catalogues []toolv1.Catalogue) call.Judge {
	v := g.view(catalogues)
	return func(q call.Question) call.Verdict { return g.judge(v, q, func(string, ...any) {}) }
}

// Explain judges a call and says what each step came to, in their order.
func (g *Gate) Explain(catalogues []toolv1.Catalogue, q call.Question) (call.Verdict, []string) {
	var considered []string
	verdict := g.judge(g.view(catalogues), q, func(format string, args ...any) {
		considered = append(considered, fmt.Sprintf(format, args...))
	})
	return verdict, considered
}
