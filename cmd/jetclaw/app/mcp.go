package app

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/lifecycle"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/registry"
	"github.com/jetclaw/jetclaw/services/mcp"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// findMCP makes what the executor of MCP servers is made of.
func (e Env) findMCP(p *parts, t Target) error {
	if !t.has(mcp.Name) {
		return nil
	}
	key, err := e.Home.ApprovalPublic()
	if err != nil {
		return &CredsError{err}
	}
	identity, err := e.Home.MCPIdentity(mcp.NewIdentity)
	if err != nil {
		return &CredsError{err}
	}
	e.Secrets.Add(identity)
	p.serving = e.mcpConfig(key, identity)
	return nil
}

// mcpConfig is the executor of MCP servers as configured now; what is configured later it reads itself.
func (e Env) mcpConfig(key ed25519.PublicKey, identity string) *mcp.Config {
	return &mcp.Config{
		Key: key, Identity: identity, World: e.mcpWorld(), Servers: e.mcpServers, Known: e.known(),
		Observer: e.told.requests(),
		Waiting:  func(servers []string) { e.Notice("asking " + strings.Join(servers, ", ") + " for their tools") },
	}
}

// mcpServers are the servers that the configuration names now.
func (e Env) mcpServers() (map[string]definition.Definition, error) {
	return registry.Load(e.Home.Config())
}

// mcpWorld is what connections to MCP servers need of their surroundings.
func (e Env) mcpWorld() mcp.World {
	return mcp.World{
		Home: e.Home.Dir(), Environ: e.Environ(), Proxy: http.ProxyFromEnvironment, Version: e.Version,
		Resolve: func(d definition.Definition) (definition.Definition, []string, error) {
			resolved, secrets, err := d.Resolve(func(ref string) (string, error) {
				value, warning, err := e.resolver().Value(ref)
				if warning != "" {
					e.Log.Warn("a secret of an MCP server", "warning", warning)
				}
				return value, err
			})
			e.Secrets.Add(secrets...)
			return resolved, secrets, err
		},
	}
}

// LookCommand says why the program of a server cannot be started; nil when it can, and for servers that have none.
func LookCommand(e Env, d definition.Definition) error {
	if d.TransportName() != definition.Stdio {
		return nil
	}
	resolved, _, err := e.mcpWorld().Resolve(d)
	if err != nil {
		return err
	}
	return e.mcpWorld().LookCommand(resolved, e.Log)
}

// ProbeMCP connects to servers from this very process, and asks what they offer. Servers that have to be logged in to are not
// reached so. progress is told what is going on.
func (e Env) ProbeMCP(ctx context.Context, servers map[string]definition.Definition, progress func(name, text string)) (mcp.Probed, error) {
	for name := range servers {
		progress(name, "starting")
	}
	return mcp.Probe(ctx, mcp.ProbeConfig{
		Servers: servers, World: e.mcpWorld(), Redact: e.Secrets.Text, Log: e.Log,
	}), nil
}

// WithMCP is WithServices for who wants of an MCP server what only the service can do: in this process that is the one service
// that is started.
func (e Env) WithMCP(ctx context.Context, fn func(context.Context, Client) error) error {
	return e.with(ctx, Target{Server: true, Services: []string{mcp.Name}}, fn)
}

// mcpPatience is what a command without a daemon waits for servers whose tools are not known yet: it ends before they would be.
const mcpPatience = 20 * time.Second

func (p *parts) mcp(c *bus.Conn) (lifecycle.Service, error) {
	config := *p.serving
	config.Conn, config.Log = c, c.Log()
	if p.watch != nil {
		config.Changed = p.watch.subscribe()
	} else {
		config.Patience = mcpPatience
	}
	return mcp.New(config)
}

// executors are those of the configured servers.
func executorsOf(c *config.Config) []bus.Executor { return mcp.Executors(c.MCP.Servers) }

// keeper gives the executors of servers that are configured while it runs their consumers. It runs where the topology is owned.
type keeper struct {
	admin   *bus.Conn
	limits  bus.Limits
	servers func() (map[string]definition.Definition, error)
	changed <-chan struct{}
}

// Run keeps up until ctx ends.
func (k *keeper) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.changed:
		}
		servers, err := k.servers()
		if err != nil {
			continue // the executor says so
		}
		changes, err := bus.Apply(ctx, k.admin.JetStream(), bus.Topology{Consumers: bus.TopologyOf(nil, k.limits, mcp.Executors(servers)...).Consumers})
		if err != nil && !errors.Is(err, context.Canceled) {
			k.admin.Log().Error("consumers of MCP servers are not made: their calls wait", "error", fmt.Errorf("apply the topology: %w", err))
		}
		for _, c := range changes {
			if c.Action != bus.Unchanged {
				k.admin.Log().Debug("topology", "change", c.String())
			}
		}
	}
}

// Ready returns at once: what is configured at the start is there.
func (k *keeper) Ready(context.Context) error { return nil }
