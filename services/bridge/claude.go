package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/bridge/event"
)

// The notifications of Claude Code's channels.
const (
	channelMethod    = "notifications/claude/channel"
	permissionMethod = "notifications/claude/channel/permission"
	requestMethod    = "notifications/claude/channel/permission_request"
)

// channelCapabilities say that the server has them.
func channelCapabilities() map[string]any {
	return map[string]any{"claude/channel": map[string]any{}, "claude/channel/permission": map[string]any{}}
}

const (
	permissionTime = time.Hour
	maxPermissions = 8   // that wait at a time: more nobody would answer
	maxPreview     = 200 // characters
	maxWords       = 2000
)

// channel is the conversation with one Claude Code: what people write is pushed to it, and what it asks is put to the person who has
// written last.
type channel struct {
	b    *Bridge
	send func(ctx context.Context, method string, params any) error
	asks chan json.RawMessage // of the client; what does not fit is dropped, and its own question stands

	ready chan struct{} // closed once it is known who the client is

	mu    sync.Mutex
	name  string       // guarded by mu; of the client
	on    bool         // guarded by mu: it wants to be told
	met   bool         // guarded by mu: ready is closed
	place session.ID   // guarded by mu; where an approver has written last, alone with the agent
	open  []permission // guarded by mu, oldest first
}

type permission struct {
	request string
	notice  string // id of the message that asks; "" until it is stored
	session session.ID
	expires time.Time
}

type channelParams struct {
	Content string            `json:"content"`
	Meta    map[string]string `json:"meta"`
}

const maxAsks = 16 // questions of the client that wait to be passed on

func newChannel(b *Bridge, send func(context.Context, string, any) error) *channel {
	return &channel{b: b, send: send, asks: make(chan json.RawMessage, maxAsks), ready: make(chan struct{}), name: "mcp"}
}

// initialized learns who the client is, and whether it wants to be told.
func (c *channel) initialized(_ context.Context, r *mcp.InitializedRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name = clientOf(r.Session, nil)
	c.on = c.b.config.Claude == On || isClaude(r.Session.InitializeParams())
	if !c.met {
		c.met = true
		close(c.ready)
	}
}

// take queues a question of the client. It must not block: whatever else the client says waits behind it.
func (c *channel) take(params json.RawMessage) bool {
	select {
	case c.asks <- params:
	default:
		c.b.log.Debug("a permission request is dropped: too many at once")
	}
	return true
}

// run passes on what people write and what the client asks, until ctx ends.
func (c *channel) run(ctx context.Context) {
	var asking sync.WaitGroup
	defer asking.Wait()
	asking.Go(func() {
		for {
			select {
			case raw := <-c.asks:
				c.asked(ctx, raw)
			case <-ctx.Done():
				return
			}
		}
	})
	select {
	case <-c.ready:
	case <-ctx.Done():
		return
	}
	c.b.push(ctx, []event.Type{event.MessageType, event.PermissionEnd}, func(ctx context.Context, e event.Event) {
		switch m := e.Body.(type) {
		case event.Message:
			if m.Role == event.User && !m.Edited && e.Session.Channel() != event.Client {
				c.inbound(ctx, e, m)
			}
		case event.Permitted:
			c.answered(ctx, e.Session, m)
		case event.Requested, event.Resolved, event.Permission, event.Turn, event.Delivery:
		}
	})
}

// inbound passes on what a person has written.
func (c *channel) inbound(ctx context.Context, e event.Event, m event.Message) {
	c.mu.Lock()
	on := c.on
	c.mu.Unlock()
	if !on {
		return
	}
	if !m.Group && c.approves(ctx, m.From) {
		c.mu.Lock()
		c.place = e.Session
		c.mu.Unlock()
	}
	r := event.RouteOf(e.Session)
	text := m.Text
	if text == "" {
		text = "[non-text message]"
	}
	c.notify(ctx, channelMethod, channelParams{Content: text, Meta: map[string]string{
		"session_key": r.Session, "channel": r.Channel, "to": r.To, "account_id": r.Account, "thread_id": r.Thread, "message_id": m.ID,
	}})
}

// approves says whether somebody may decide approvals. In doubt they may not.
func (c *channel) approves(ctx context.Context, who string) bool {
	got, err := ask[struct {
		Approvers []string `json:"approvers"`
	}](ctx, c.b.line, approvals, "approvers", struct{}{})
	if err != nil {
		c.b.log.Warn("who may decide cannot be asked", "error", err)
	}
	return err == nil && slices.Contains(got.Approvers, who)
}

func (c *channel) notify(ctx context.Context, method string, params any) {
	if err := c.send(ctx, method, params); err != nil {
		c.b.log.Warn("the client was not told", "method", method, "error", err)
	}
}

type permissionParams struct {
	Request     string `json:"request_id"`
	Tool        string `json:"tool_name"`
	Description string `json:"description"`
	Preview     string `json:"input_preview"`
}

var requestIDs = regexp.MustCompile(`^[a-km-z]{5}$`)

// asked puts a question of the client to the person: as a message in their conversation.
func (c *channel) asked(ctx context.Context, raw json.RawMessage) {
	var p permissionParams
	if err := json.Unmarshal(raw, &p); err != nil || !requestIDs.MatchString(p.Request) || p.Tool == "" {
		c.b.log.Warn("a permission request that cannot be read", "error", err)
		return
	}
	c.mu.Lock()
	place, name := c.place, c.name
	c.mu.Unlock()
	if place == "" {
		c.b.log.Warn("a permission request is not passed on: nobody who may decide has written since this client is here", "tool", visible(p.Tool))
		return
	}
	p.Tool, p.Description, p.Preview = clip(p.Tool, maxPreview), clip(p.Description, maxWords), clip(p.Preview, maxPreview)
	expires := time.Now().Add(permissionTime)
	mine := permission{request: p.Request, session: place, expires: expires}
	if !c.wait(mine) {
		c.b.log.Debug("a permission request is dropped: too many wait for an answer", "tool", visible(p.Tool))
		return
	}
	q := sendQuestion{
		Session: string(place), Key: rand.Text(), By: name, Text: words(name, p),
		Permission: &noticev1.Permission{Request: p.Request, Tool: p.Tool, Description: p.Description, Preview: p.Preview, Expires: expires.UTC()},
	}
	got, err := ask[sendReceipt](ctx, c.b.line, outbox, "send", q)
	if err != nil {
		c.b.log.Warn("a permission request could not be passed on", "tool", visible(p.Tool), "error", err)
		c.forget(p.Request)
		return
	}
	mine.notice = got.Delivery
	c.stored(mine)
}

// words ask the person. What comes from the client stands in a fence of its own, so that nothing in it looks like ours.
func words(name string, p permissionParams) string {
	said := slices.DeleteFunc([]string{p.Tool, p.Description, p.Preview}, func(s string) bool { return s == "" })
	foreign := strings.Join(said, "\n")
	fence := "```"
	for strings.Contains(foreign, fence) {
		fence += "`"
	}
	return fmt.Sprintf("%s asks whether it may use a tool:\n\n%s\n%s\n%s\n\nAnswer: yes %s, or no %s",
		strings.TrimPrefix(name, "mcp:"), fence, foreign, fence, p.Request, p.Request)
}

// clip is the beginning of a text of one line, and says that it is only that.
func clip(text string, most int) string {
	runes := []rune(visible(text))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}

// visible writes out what moves text about or hides it: lines, control characters, and those that change its direction.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// wait notes a question before it is asked. One with the same id takes the place of the first; false: too many wait.
func (c *channel) wait(p permission) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = slices.DeleteFunc(c.open, func(o permission) bool { return o.request == p.request || time.Now().After(o.expires) })
	if len(c.open) >= maxPermissions {
		return false
	}
	c.open = append(c.open, p)
	return true
}

// stored notes by which message a question was asked.
func (c *channel) stored(p permission) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.open {
		if c.open[i].request == p.request {
			c.open[i] = p
		}
	}
}

func (c *channel) forget(request string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = slices.DeleteFunc(c.open, func(o permission) bool { return o.request == request })
}

// answered passes an answer on, if the question was this client's. That the right person has given it, intake has seen to.
func (c *channel) answered(ctx context.Context, s session.ID, a event.Permitted) {
	c.mu.Lock()
	at := slices.IndexFunc(c.open, func(o permission) bool {
		return o.request == a.Request && (o.notice == a.Notice || a.Notice == "") && o.session == s && time.Now().Before(o.expires)
	})
	if at >= 0 {
		c.open = slices.Delete(c.open, at, at+1)
	}
	c.mu.Unlock()
	if at >= 0 {
		c.notify(ctx, permissionMethod, map[string]string{"request_id": a.Request, "behavior": a.Behavior})
	}
}

// isClaude says whether a client is Claude Code, as far as it says so itself.
func isClaude(p *mcp.InitializeParams) bool {
	return p != nil && p.ClientInfo != nil && strings.Contains(strings.ToLower(p.ClientInfo.Name), "claude")
}
