package turns

import (
	"context"
	"fmt"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/relay"
	"github.com/jetclaw/jetclaw/services/turns/internal/router"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// ClientChannel is where programs outside have their calls made (`jetclaw mcp serve`).
const ClientChannel = "mcp"

// newClient is a client agent. What its relay does is the same for all of them: there is no limit or budget to choose.
func newClient(a Agent, secrets []string) (*agent, error) {
	limits, queue := turn.DefaultLimits(), turn.DefaultQueue()
	if a.Queue != (turn.Queue{}) {
		queue = a.Queue
		queue.Mode = turn.Followup
	}
	made := &agent{
		Agent: Agent{Client: true, Model: relay.Name, Workspace: a.Workspace, Allow: a.Allow, Deny: a.Deny, Limits: limits, Queue: queue},
		// Compact is left at nothing: the relay never looks at the past, so that nothing has to be summarised for it.
		rules: turn.Rules{Client: true, Limits: limits, Queue: queue, Model: relay.Name, Models: []string{relay.Name}},
	}
	if err := made.rules.Validate(); err != nil {
		return nil, err
	}
	return made, made.open(secrets)
}

// generate asks the models of a session, in order, or the relay of a client.
func (c *caller) generate(
	ctx context.Context, w actor.Work[turn.State], a *agent, request func(Model) model.Request, onDelta func(string),
) (router.Result, error) {
	switch {
	case a.Client:
		m := relay.Model{}
		answer, err := m.Generate(ctx, request(m), onDelta)
		return router.Result{Answer: answer, Model: m.Name()}, err
	case w.Session.Channel() == ClientChannel:
		return router.Result{}, noClient(w.Session)
	}
	return c.route.Generate(ctx, c.chain(a, w.State), request, onDelta)
}

// noClient keeps the calls of a program outside from being read by a model of another agent, which would do with them whatever it
// likes.
func noClient(s session.ID) error {
	return &model.Error{
		Class: model.Invalid, Cause: turnv1.ModelUnavailable, Detail: "no client agent",
		Text: fmt.Sprintf("Nothing was done: %q is no client agent. Add agents.%s: {client: true, tools: {allow: [...]}} to jetclaw.yaml, "+
			"with the tools that this program may use.", s.Agent(), s.Agent()),
	}
}

// model is the model of a reference of an agent's chain.
func (c *caller) model(a *agent, ref string) (Model, error) {
	if a.Client {
		return relay.Model{}, nil
	}
	return c.models.Model(ref)
}

// relayed is what the relay is shown: what was said last in the running turn, and nothing before it. There are no fences around
// results, as there is nobody who could take them for instructions.
func (c *caller) relayed(a *agent, s turn.State) prompt.Plan {
	offered := c.shelf.offer(a, "", false)
	p := prompt.Plan{Tools: offered.tools, Names: offered.names, Parts: []prompt.Part{}}
	if s.Turn == nil || len(s.Turn.Entries) == 0 {
		return p
	}
	last := s.Turn.Entries[len(s.Turn.Entries)-1]
	if len(last.Calls) == 0 { // with what belongs to it, so that a forwarded text is not the call that it may look like
		p.Messages = []model.Message{{Role: last.Role, Text: prompt.Said(last)}}
	}
	for _, call := range last.Calls {
		text := call.Result
		if call.Note != "" {
			text += "\n" + call.Note
		}
		p.Messages = append(p.Messages, model.Message{Role: turn.Tool, Call: call.ID, Name: call.Tool, Text: text})
	}
	return p
}
