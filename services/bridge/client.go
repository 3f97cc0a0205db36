package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

const clientInstructions = `The tools of a jetclaw agent. Each call passes the gate of jetclaw: it may be denied, and it may wait until a person has allowed it.
Calls run one after the other.`

// client offers the tools of one agent, that is a program outside, to that program. A call is a message in a session of the agent; its
// turn asks for exactly that call, so that gate, approvals, executors and journal are those of every agent.
type client struct {
	b     *Bridge
	agent string
	began string // in the names of sessions: which run of this process it was

	mu    sync.Mutex
	tools map[string]string   // guarded by mu; digests of what the server offers, by name
	lanes map[string]*lane    // guarded by mu; by peer, those that are in use
	owed  map[session.ID]bool // guarded by mu; sessions that may have a call under way which nobody waits for
}

func newClient(b *Bridge) *client {
	return &client{
		b: b, agent: b.config.Agent, began: strings.ToLower(rand.Text()[:8]),
		tools: map[string]string{}, lanes: map[string]*lane{}, owed: map[session.ID]bool{},
	}
}

func (c *client) newServer(versions []string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "jetclaw-tools", Title: "jetclaw's tools", Version: c.b.config.Version}, &mcp.ServerOptions{
		Instructions: clientInstructions, Logger: c.b.protocol, SupportedProtocolVersions: versions, SetCacheable: private,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})
	s.AddReceivingMiddleware(coded, func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if call, ok := r.GetParams().(*mcp.CallToolParamsRaw); method == "tools/list" || ok && !c.known(call.Name) {
				if err := c.refresh(ctx, s); err != nil {
					return nil, err
				}
			}
			return next(ctx, method, r)
		}
	})
	return s
}

// known says that there is a tool of a name, as far as was looked.
func (c *client) known(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.tools[name]
	return ok
}

// refreshEvery is how often it is looked whether the tools have changed.
const refreshEvery = 15 * time.Second

// keep refreshes the tools until ctx ends.
func (c *client) keep(ctx context.Context, s *mcp.Server) {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		if err := c.refresh(ctx, s); err != nil && ctx.Err() == nil {
			c.b.log.Warn("the tools cannot be listed now", "agent", c.agent, "error", err)
		}
		for _, id := range c.owing() {
			c.stop(ctx, id)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

type explainQuestion struct {
	Agent  string `json:"agent"`
	Client bool   `json:"client"`
	After  string `json:"after,omitempty"`
}

type explainAnswer struct {
	Tools []toolv1.Catalogue `json:"tools"`
	More  bool               `json:"more"`
}

// offered are the tools that the agent may use at all.
func (c *client) offered(ctx context.Context) (map[string]toolv1.Tool, error) {
	all := map[string]toolv1.Tool{}
	for after := ""; ; {
		got, err := ask[explainAnswer](ctx, c.b.line, "tools", "explain", explainQuestion{Agent: c.agent, Client: true, After: after})
		if err != nil {
			return nil, err
		}
		for _, executor := range got.Tools {
			for _, t := range executor.Tools {
				all[t.Name] = t
			}
			after = executor.Executor
		}
		if !got.More || len(got.Tools) == 0 {
			return all, nil
		}
	}
}

func (c *client) refresh(ctx context.Context, s *mcp.Server) error {
	all, err := c.offered(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var gone []string
	for name := range c.tools {
		if _, ok := all[name]; !ok {
			gone = append(gone, name)
			delete(c.tools, name)
		}
	}
	if len(gone) > 0 {
		s.RemoveTools(gone...)
	}
	for name, t := range all {
		digest := t.Digest()
		if c.tools[name] == digest {
			continue
		}
		c.tools[name] = digest
		if !names.MatchString(name) || !isObject(t.Schema) {
			c.b.log.Warn("a tool cannot be offered by MCP", "tool", name)
			continue
		}
		s.AddTool(toolOf(t), c.call)
	}
	return nil
}

// names are those that tools may have (MCP, SEP-986).
var names = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

func isObject(schema json.RawMessage) bool {
	var s struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(schema, &s) == nil && s.Type == "object"
}

func toolOf(t toolv1.Tool) *mcp.Tool {
	description := t.Description
	if t.Level >= toolv1.L2 {
		description += "\n\nA person may have to allow the call first."
	}
	return &mcp.Tool{Name: t.Name, Description: description, InputSchema: t.Schema, Annotations: &mcp.ToolAnnotations{
		ReadOnlyHint: t.Level == toolv1.L0, IdempotentHint: t.Again,
		DestructiveHint: new(t.Level >= toolv1.L2), OpenWorldHint: new(t.Egress != toolv1.NoEgress),
	}}
}
