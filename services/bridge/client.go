package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/bridge/event"
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

// lane lets the calls of one MCP session happen one after the other.
type lane struct {
	token chan struct{} // who has put one in runs a call
	users int           // guarded by client.mu
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

// enter takes the lane of an MCP session until leave is called, and says in which session its calls happen.
func (c *client) enter(ctx context.Context, r *mcp.CallToolRequest) (id session.ID, leave func(), err error) {
	peer := c.began
	if own := r.Session.ID(); own != "" {
		peer += "-" + own
	} else if r.Extra != nil && r.Extra.TokenInfo != nil { // without sessions each token has one of its own
		token, _, _ := strings.Cut(r.Extra.TokenInfo.UserID, "/")
		peer += "-" + plain(token)
	}
	if len(peer) > session.MaxToken/2 {
		peer = peer[:session.MaxToken/2]
	}
	if id, err = session.New(c.agent, event.Client, "default", peer); err != nil {
		return "", nil, fmt.Errorf("session of agent %q: %w", c.agent, err)
	}
	c.mu.Lock()
	l := c.lanes[peer]
	if l == nil {
		l = &lane{token: make(chan struct{}, 1)}
		c.lanes[peer] = l
	}
	l.users++
	c.mu.Unlock()
	part := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(c.lanes, peer)
		}
	}
	select {
	case l.token <- struct{}{}:
		return id, func() { <-l.token; part() }, nil
	case <-ctx.Done():
		part()
		return "", nil, context.Cause(ctx)
	}
}

type sender struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type submitQuestion struct {
	Session  string `json:"session"`
	From     sender `json:"from"`
	Text     string `json:"text,omitempty"`
	Key      string `json:"key"`
	Verb     string `json:"verb,omitempty"`
	Argument string `json:"argument,omitempty"`
}

type submitReceipt struct {
	Message string `json:"message_id"`
}

type replyQuestion struct {
	Session string `json:"session"`
	Message string `json:"message_id"`
	Wait    int64  `json:"wait_ms"`
	Until   string `json:"until,omitempty"`
}

type replyAnswer struct {
	Status    string `json:"status"`
	Text      string `json:"text"`
	Cursor    uint64 `json:"cursor"`
	Approvals []struct {
		ID string `json:"id"`
	} `json:"approvals"`
}

const (
	intake    = "intake"
	replyTime = 20 * time.Second // of one question for what became of a call
)

// call carries out one tools/call.
func (c *client) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	id, leave, err := c.enter(ctx, r)
	if err != nil {
		return nil, err
	}
	defer leave()
	args, err := oneLine(r.Params.Arguments)
	if err != nil {
		return failed(err), nil
	}
	q := submitQuestion{
		Session: string(id), From: sender{ID: "local", Name: clientOf(r.Session, r.Extra)}, Key: rand.Text(),
		Text: "!tool " + r.Params.Name + " " + args,
	}
	if err := c.settled(ctx, id); err != nil {
		return failed(err), nil
	}
	// Whatever the client does meanwhile, it has to be known whether the call was begun.
	begin, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.b.config.Patience+tryTime)
	defer cancel()
	got, err := ask[submitReceipt](begin, c.b.line, intake, "submit", q)
	if k := fault.KindOf(err); err != nil && k != fault.Unavailable && k != fault.Timeout {
		return failed(err), nil
	}
	var reply replyAnswer
	if err == nil {
		reply, err = c.outcome(ctx, r, id, got.Message)
	}
	if err == nil {
		return c.result(ctx, id, reply)
	}
	c.stop(context.WithoutCancel(ctx), id)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return failed(fmt.Errorf("it is not known what became of the call (%s in %s), it is stopped if it has not ended: %w", got.Message, id, err)), nil
}

// settled makes sure that no earlier call of a session is under way: nobody would wait for it, and it would hold up the next.
func (c *client) settled(ctx context.Context, id session.ID) error {
	c.mu.Lock()
	owed := c.owed[id]
	c.mu.Unlock()
	if owed && !c.stop(ctx, id) {
		return c.b.line.away()
	}
	return nil
}

func (c *client) owing() []session.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.owed))
}

// oneLine writes arguments so that they come through the gate for messages unchanged: it drops control characters, which JSON can
// write otherwise.
func oneLine(args json.RawMessage) (string, error) {
	if len(args) == 0 {
		return "{}", nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, args); err != nil {
		return "", fmt.Errorf("the arguments are no JSON: %w", err)
	}
	var out strings.Builder
	for _, r := range b.String() {
		if r >= 0x7f && r <= 0x9f {
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String(), nil
}

// outcome waits until the turn of a call has ended, for as long as a person takes to allow it.
func (c *client) outcome(ctx context.Context, r *mcp.CallToolRequest, id session.ID, message string) (replyAnswer, error) {
	q := replyQuestion{Session: string(id), Message: message, Wait: replyTime.Milliseconds()}
	for n := 1; ; n++ {
		reply, err := askWithin[replyAnswer](ctx, c.b.line, replyTime+tryTime, intake, "reply", q)
		if err != nil {
			return reply, err
		}
		switch reply.Status {
		case "pending":
		case "awaiting_approval":
			q.Until = "answer"
			c.progress(ctx, r, n, reply)
		default:
			return reply, nil
		}
	}
}

// progress tells a client that wants to know that a person is asked.
func (c *client) progress(ctx context.Context, r *mcp.CallToolRequest, n int, reply replyAnswer) {
	token := r.Params.GetProgressToken()
	if token == nil || len(reply.Approvals) == 0 {
		return
	}
	err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: float64(n), Message: "waits until a person allows it: approval " + reply.Approvals[0].ID,
	})
	if err != nil {
		c.b.log.Debug("progress was not told", "error", err)
	}
}

// stopTime bounds the end of a call that nobody waits for.
const stopTime = 10 * time.Second

// stop ends the call of a session whose client has withdrawn it, or that is not known to have ended: what was not begun is not begun
// any more. What cannot be stopped now is stopped later.
func (c *client) stop(ctx context.Context, id session.ID) (stopped bool) {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	q := submitQuestion{Session: string(id), From: sender{ID: "local"}, Key: rand.Text(), Verb: "stop"}
	_, err := ask[submitReceipt](ctx, c.b.line, intake, "control", q)
	if fault.KindOf(err) == fault.NotFound { // nothing was begun there
		err = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.owed[id] = true
		c.b.log.Warn("a call that nobody waits for could not be stopped yet", "session", id, "error", err)
		return false
	}
	delete(c.owed, id)
	return true
}
