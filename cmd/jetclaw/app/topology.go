package app

import (
	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/natsembed"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
	"github.com/jetclaw/jetclaw/services/builtin"
	"github.com/jetclaw/jetclaw/services/mcp"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
	"github.com/jetclaw/jetclaw/services/tools/call"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// Specs are what the services do on the bus.
func Specs() []bus.Spec { return specs() }

// Topology is what the bus has to have, as a start would bring it about.
func (e Env) Topology() (bus.Topology, error) {
	l := e.limits()
	if e.Config.Remote.URL == "" {
		var err error
		if l.Free, err = natsembed.FreeSpace(e.Home.Data()); err != nil {
			return bus.Topology{}, err
		}
	}
	return bus.TopologyOf(specs(), l, executorsOf(e.Config)...), nil
}

// Folding is how a service with a machine folds a session.
type Folding struct {
	Version string                      // of its snapshots
	Part    func(envelope.Event) string // of its session that an event rings; nil: it has none
}

// Foldings are those of all services with a machine, by name.
func Foldings() map[string]Folding {
	return map[string]Folding{
		"turns":          {Version: turn.Version},
		"tools":          {Version: call.Version},
		approval.Service: {Version: approval.Version},
		builtin.Executor: {Version: builtin.Version, Part: builtin.Part},
		mcp.Name:         {Version: mcp.Version, Part: mcp.Part},
		"outbox":         {Version: delivery.Version},
	}
}
