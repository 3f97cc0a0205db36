package turns

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/turns/internal/workspace"
	"github.com/jetclaw/jetclaw/services/turns/price"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// DefaultInstructions are those of an agent that nobody has described.
const DefaultInstructions = "You are a helpful personal assistant. Answer briefly and plainly, in the language of the person who writes."

// MainAgent answers in sessions of agents that are not configured.
const MainAgent = "main"

// Agent is one persona. The zero value of a field takes the default.
type Agent struct {
	// Client says that it is a program outside, which sends its tool calls as messages. It has no model, no prompt, no budget and
	// no queue mode of its own, whatever is said of them here, and where Allow is empty it may use no tool.
	Client       bool
	Model        string   // reference; required with a catalog of several models
	Fallbacks    []string // asked in order when it cannot answer
	Instructions string   // what the model is told first; "": DefaultInstructions
	Workspace    string   // folder of its files and skills; "": none
	Allow, Deny  []string // names of tools that it is offered, with * and ?: all where Allow is empty (see Client), none of Deny
	Window       int      // tokens that a request and its answer may have together; 0: by the model
	Limits       turn.Limits
	Queue        turn.Queue
	Queues       map[string]turn.Mode // by channel; others take Queue.Mode
	Budget       turn.Budget
}

// agent is an Agent with everything filled in.
type agent struct {
	Agent
	rules turn.Rules
	space *workspace.Workspace // nil: none

	mu   sync.Mutex
	told []string // guarded by mu; the problems of the workspace that were logged last, never written through
}

// files are those of the workspace, and its skills. What is wrong with them is logged when it changes.
func (a *agent) files(log *slog.Logger) ([]prompt.File, []prompt.Skill) {
	if a.space == nil {
		return nil, nil
	}
	files, skills, problems := a.space.Load()
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.String()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(a.told, texts) {
		a.told = texts
		for _, text := range texts {
			log.Warn("workspace", "folder", a.Workspace, "problem", text)
		}
	}
	return files, skills
}

// problems are what was wrong with the workspace when it was last read.
func (a *agent) problems() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.told
}

// agents are all of them.
type agents map[string]*agent

// newAgents fills in defaults and checks.
func newAgents(configured map[string]Agent, c Catalog, prices price.Table, secrets []string) (agents, error) {
	list := agents{}
	if configured[MainAgent].Client {
		return nil, fmt.Errorf("agent %s: it stands in for agents that are not configured, and cannot be a client", MainAgent)
	}
	for name, a := range configured {
		made, err := newAgent(a, c, prices, secrets)
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", name, err)
		}
		list[name] = made
	}
	if list[MainAgent] == nil {
		made, err := newAgent(Agent{}, c, prices, secrets)
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", MainAgent, err)
		}
		list[MainAgent] = made
	}
	return list, nil
}

func newAgent(a Agent, c Catalog, prices price.Table, secrets []string) (*agent, error) {
	if a.Client {
		return newClient(a, secrets)
	}
	if a.Instructions == "" {
		a.Instructions = DefaultInstructions
	}
	if a.Limits == (turn.Limits{}) {
		a.Limits = turn.DefaultLimits()
	}
	if a.Queue == (turn.Queue{}) {
		a.Queue = turn.DefaultQueue()
	}
	named := c.Named()
	if a.Model == "" && len(named) > 0 {
		a.Model = named[0]
	}
	m, err := c.Model(a.Model)
	if err != nil {
		return nil, err
	}
	made := &agent{Agent: a, rules: turn.Rules{
		Limits: a.Limits, Queue: a.Queue, Budget: a.Budget, Compact: turn.CompactFor(a.window(m, prices)),
		Model: a.Model, Models: named, Providers: c.Providers(),
	}}
	for channel, mode := range a.Queues {
		q := a.Queue
		q.Mode = mode
		if err := q.Validate(); err != nil {
			return nil, fmt.Errorf("queue of channel %s: %w", channel, err)
		}
	}
	if err := made.rules.Validate(); err != nil {
		return nil, err
	}
	return made, made.open(secrets)
}

// open makes the workspace where there is none.
func (a *agent) open(secrets []string) (err error) {
	if a.Workspace == "" {
		return nil
	}
	if err := workspace.Ensure(a.Workspace); err != nil {
		return fmt.Errorf("workspace: %w", err)
	}
	if a.space, err = workspace.Open(a.Workspace, secrets...); err != nil {
		return fmt.Errorf("workspace: %w", err)
	}
	return nil
}

// unknownWindow is what a model is trusted with when nobody says how long its window is, in tokens.
const unknownWindow = 32_000

// window is what a request to m and its answer may have together, in tokens.
func (a Agent) window(m Model, prices price.Table) int {
	known := prices.Window(m.Name(), vendorOf(m))
	if l, ok := m.(*listed); ok && known == 0 {
		known = l.window
	}
	switch {
	case known == 0 && a.Window == 0:
		return unknownWindow
	case known == 0, a.Window > 0 && a.Window < known:
		return a.Window
	}
	return known
}

func vendorOf(m Model) string {
	if l, ok := m.(*listed); ok {
		return l.vendor
	}
	return ""
}

// of is the agent of a session.
func (a agents) of(s session.ID) *agent {
	if found, ok := a[s.Agent()]; ok {
		return found
	}
	return a[MainAgent]
}

// rulesOf are the rules of a session.
func (a agents) rulesOf(s session.ID) turn.Rules {
	found := a.of(s)
	r := found.rules
	if mode, ok := found.Queues[s.Channel()]; ok {
		r.Queue.Mode = mode
	}
	return r
}

// chain is which models a session asks, in order: its own, then the agent's fallbacks. Within a turn the one that has
// answered stays first, so that it is not two that take turns in one train of thought.
func (a *agent) chain(s turn.State) []string {
	refs := append([]string{s.ModelRef(a.rules)}, a.Fallbacks...)
	if s.Turn != nil && slices.Contains(refs, s.Turn.Model) {
		refs = append([]string{s.Turn.Model}, refs...)
	}
	chain := make([]string, 0, len(refs))
	for _, ref := range refs {
		if !slices.Contains(chain, ref) {
			chain = append(chain, ref)
		}
	}
	return chain
}
