package client

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxCall is how long a call may take at most, however much progress it reports.
const MaxCall = 10 * time.Minute

// Progress is what a server says of a call under way.
type Progress struct {
	Progress, Total float64 // Total is 0 if it is not known
	Message         string  // one line, untrusted
}

// Call calls a tool. Its limit is the request timeout, counted anew from each progress notification, up to MaxCall. progress may
// be nil; it must not block, and is not called after Call has returned. A result with IsError is a result.
func (s *Session) Call(ctx context.Context, tool string, args json.RawMessage, progress func(Progress)) (*mcp.CallToolResult, error) {
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	if !json.Valid(args) {
		return nil, &RPCError{Code: jsonrpc.CodeInvalidParams, Message: "the arguments are no JSON"}
	}
	p := &mcp.CallToolParams{Name: tool, Arguments: args}
	token := "c" + strconv.FormatUint(s.tokens.Add(1), 10)
	p.SetProgressToken(token)
	c := &call{what: "tools/call", progress: progress}
	var way passage
	s.mu.Lock()
	s.calls[token] = c
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.calls, token)
		s.mu.Unlock()
	}()
	r, err := do(ctx, s, c, func(ctx context.Context) (*mcp.CallToolResult, error) {
		return s.mcp.CallTool(context.WithValue(ctx, passageKey{}, &way), p)
	})
	if err != nil && way.unsent() {
		err = &UnsentError{err}
	}
	return r, err
}

// passageKey is the key of the passage of a call over HTTP.
type passageKey struct{}

// passage counts how often a call was sent, and how often there was nobody who could have taken it.
type passage struct{ tries, nobody atomic.Int32 }

func (p *passage) note(err error) {
	p.tries.Add(1)
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		p.nobody.Add(1)
	}
}

func (p *passage) unsent() bool { return p.tries.Load() > 0 && p.tries.Load() == p.nobody.Load() }

// progressed is told of all progress.
func (s *Session) progressed(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	if req.Params == nil {
		return
	}
	token, _ := req.Params.ProgressToken.(string)
	s.mu.Lock()
	c := s.calls[token]
	s.mu.Unlock()
	if c != nil { // else it is late, or invented
		c.note(Progress{req.Params.Progress, req.Params.Total, hide(s.hide).line(req.Params.Message, maxProgress)})
	}
}

const maxProgress = 1 << 10

// rewind starts the clocks of all calls anew.
func (s *Session) rewind() {
	s.mu.Lock()
	calls := slices.Collect(maps.Values(s.calls))
	s.mu.Unlock()
	for _, c := range calls {
		c.rewind()
	}
}

// call is a request under way.
type call struct {
	what     string
	progress func(Progress)

	mu    sync.Mutex
	over  bool
	limit time.Duration
	due   time.Time // when it is too late
	last  time.Time // MaxCall: due is never after it
	clock *time.Timer
}

// begin starts the clock, which calls late.
func (c *call) begin(limit time.Duration, asking func() bool, late func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.limit, c.last = limit, now.Add(MaxCall)
	c.clock = time.AfterFunc(MaxCall, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		now := time.Now()
		switch {
		case c.over:
		case now.Before(c.due): // it rang while it was set anew
			c.clock.Reset(c.due.Sub(now))
		case asking() && now.Before(c.last): // a person takes longer than a server
			c.set(now)
		default:
			late()
		}
	})
	c.set(now)
}

// set gives the call its whole limit again.
func (c *call) set(now time.Time) {
	if c.due = now.Add(c.limit); c.due.After(c.last) {
		c.due = c.last
	}
	c.clock.Reset(c.due.Sub(now))
}

// note is progress.
func (c *call) note(p Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.clock == nil {
		return
	}
	c.set(time.Now())
	if c.progress != nil {
		c.progress(p)
	}
}

func (c *call) rewind() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over && c.clock != nil {
		c.set(time.Now())
	}
}

func (c *call) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.clock.Stop()
}

// do sends a request in a goroutine, since the SDK blocks in a write that the server does not read. It returns with the answer,
// or at once when its time is over; the answer is then dropped.
func do[R any](ctx context.Context, s *Session, c *call, send func(context.Context) (R, error)) (R, error) {
	var none R
	run, release := s.life.tie(ctx)
	defer release(nil)
	began := time.Now()
	c.begin(s.limit, func() bool { return s.asking.Load() > 0 }, func() {
		release(&TimeoutError{What: c.what, After: time.Since(began).Round(time.Millisecond)})
	})
	defer c.finish()
	type outcome struct {
		result R
		err    error
	}
	got := make(chan outcome, 1)
	if !s.run(func() {
		r, err := send(run)
		got <- outcome{r, err}
	}) {
		return none, s.explain(ctx, run, c.what, s.gone())
	}
	select {
	case o := <-got:
		if o.err != nil {
			return none, s.explain(ctx, run, c.what, o.err)
		}
		return o.result, nil
	case <-run.Done():
		return none, s.explain(ctx, run, c.what, context.Cause(run))
	}
}

// ListResources is one page of the resources.
func (s *Session) ListResources(ctx context.Context, cursor string) (*mcp.ListResourcesResult, error) {
	p := &mcp.ListResourcesParams{Cursor: cursor}
	return taken(do(ctx, s, &call{what: "resources/list"}, func(ctx context.Context) (*mcp.ListResourcesResult, error) {
		return s.mcp.ListResources(ctx, p)
	}))
}

// ReadResource reads a resource.
func (s *Session) ReadResource(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
	p := &mcp.ReadResourceParams{URI: uri}
	return taken(do(ctx, s, &call{what: "resources/read"}, func(ctx context.Context) (*mcp.ReadResourceResult, error) {
		return s.mcp.ReadResource(ctx, p)
	}))
}

// ListPrompts is one page of the prompts.
func (s *Session) ListPrompts(ctx context.Context, cursor string) (*mcp.ListPromptsResult, error) {
	p := &mcp.ListPromptsParams{Cursor: cursor}
	return taken(do(ctx, s, &call{what: "prompts/list"}, func(ctx context.Context) (*mcp.ListPromptsResult, error) {
		return s.mcp.ListPrompts(ctx, p)
	}))
}

// GetPrompt fills in a prompt.
func (s *Session) GetPrompt(ctx context.Context, name string, args map[string]string) (*mcp.GetPromptResult, error) {
	p := &mcp.GetPromptParams{Name: name, Arguments: args}
	return do(ctx, s, &call{what: "prompts/get"}, func(ctx context.Context) (*mcp.GetPromptResult, error) {
		return s.mcp.GetPrompt(ctx, p)
	})
}

// taken takes a result out of the SDK's cache, which would keep the content of each resource that was ever read. (It is not used
// as a cache: see fresh.)
func taken[T any](r *T, err error) (*T, error) {
	if err != nil || r == nil {
		return nil, err
	}
	kept := *r
	var none T
	*r = none
	return &kept, nil
}
