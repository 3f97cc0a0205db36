package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/bridge/event"
)

// lane lets the calls of one MCP session happen one after the other.
type lane struct {
	token chan struct{} // who has put one in runs a call
	users int           // guarded by client.mu
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
