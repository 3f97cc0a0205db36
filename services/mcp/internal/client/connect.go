package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

const (
	modern = "2026-07-28" // the first version without initialize
	legacy = "2025-11-25" // the last with it
	// probeTime is what a server has for its answer to server/discover: some older ones ignore what they do not know.
	probeTime = 3 * time.Second
	// abortGrace is how long the end of an attempt is waited for. A process needs longer at times; it then ends beside.
	abortGrace = 2 * time.Second
)

// Connect connects to a server and greets it. It takes at most the connection timeout of the definition.
func Connect(ctx context.Context, o Options) (*Session, error) {
	limit := o.Definition.ConnectionTimeout()
	within, cancel := context.WithTimeoutCause(ctx, limit, &TimeoutError{What: "connecting", After: limit})
	defer cancel()
	pinned := o.Legacy || o.Definition.Transport == definition.SSE && o.Definition.URL != "" // SSE is older than discover
	t := &attempt{o: o, pinned: pinned, probe: min(probeTime, limit*2/5)}
	s, err := t.run(within)
	if err != nil && !pinned && t.again(within, err) {
		t = &attempt{o: o, pinned: true}
		s, err = t.run(within)
	}
	if err == nil {
		return s, nil
	}
	if ctx.Err() != nil {
		return nil, &endedError{"connecting", context.Cause(ctx)}
	}
	if late, ok := errors.AsType[*TimeoutError](err); ok {
		return nil, &TimeoutError{What: late.What, After: limit}
	}
	return nil, fmt.Errorf("connecting: %w", err)
}

// attempt is one try to connect.
type attempt struct {
	o      Options
	pinned bool          // to the era before discover
	probe  time.Duration // for discover

	end context.CancelCauseFunc // gives up
}

// again says whether a connection without discover is worth trying: what the server did may be its answer to that.
func (t *attempt) again(ctx context.Context, err error) bool {
	if ctx.Err() != nil || final(err) {
		return false
	}
	_, answered := errors.AsType[*RPCError](err) // it was greeted the old way, and said no
	return !answered
}

// final says whether an error has nothing to do with the era.
func final(err error) bool {
	for _, find := range []func(error) error{
		as[*RefusedError], as[*authError], as[*addressError], as[*openError], as[*reachError], as[*StatusError],
	} {
		if find(err) != nil {
			return true
		}
	}
	return false
}

// openError is why a program could not be started.
type openError struct{ error }

func (e *openError) Unwrap() error { return e.error }

func (t *attempt) run(ctx context.Context) (*Session, error) {
	o := t.o
	if open := o.Open; open != nil {
		o.Open = func(ctx context.Context) (Pipe, error) {
			p, err := open(ctx)
			if err != nil {
				return Pipe{}, &openError{err}
			}
			return p, nil
		}
	}
	l, err := newLink(o)
	if err != nil {
		return nil, &openError{err}
	}
	s := newSession(t.o, l)
	ctx, t.end = context.WithCancelCause(ctx)
	defer t.end(nil)
	c := t.client(s)
	var opts mcp.ClientSessionOptions
	if t.pinned {
		opts.ProtocolVersion = legacy
	}
	type outcome struct {
		cs  *mcp.ClientSession
		err error
	}
	got := make(chan outcome, 1)
	go func() { // it ends soon after abort at the latest
		cs, err := c.Connect(ctx, l, &opts)
		got <- outcome{cs, err}
	}()
	select {
	case r := <-got:
		if r.err == nil {
			s.start(r.cs)
			return s, nil
		}
		err = r.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.abort()
	}()
	grace := time.NewTimer(abortGrace)
	defer grace.Stop()
	select { // two processes of one server may be in each other's way
	case <-ended:
	case <-grace.C:
	}
	if ctx.Err() != nil {
		return nil, translate(context.Cause(ctx), t.o.hide)
	}
	if opening, ok := errors.AsType[*openError](err); ok {
		return nil, opening
	}
	return nil, translate(err, t.o.hide)
}

// client makes the SDK's client, with what is offered to the server.
func (t *attempt) client(s *Session) *mcp.Client {
	o := &mcp.ClientOptions{
		Capabilities:                &mcp.ClientCapabilities{}, // without it the SDK offers roots
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { s.changed.note(KindTools) },
		ResourceListChangedHandler:  func(context.Context, *mcp.ResourceListChangedRequest) { s.changed.note(KindResources) },
		PromptListChangedHandler:    func(context.Context, *mcp.PromptListChangedRequest) { s.changed.note(KindPrompts) },
		ProgressNotificationHandler: s.progressed,
	}
	if t.o.Elicit != nil {
		o.Capabilities.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}
		o.ElicitationHandler = s.elicit
	}
	if len(t.o.Definition.Roots) > 0 {
		//nolint:staticcheck // deprecated, and what today's servers ask for
		o.Capabilities.RootsV2 = &mcp.RootCapabilities{}
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "jetclaw", Version: t.o.Client}, o)
	for _, folder := range t.o.Definition.Roots {
		//nolint:staticcheck // as above
		c.AddRoots(&mcp.Root{URI: fileURI(folder), Name: filepath.Base(folder)})
	}
	c.AddSendingMiddleware(t.send)
	register(c)
	return c
}

func fileURI(folder string) string {
	return (&url.URL{Scheme: "file", Path: path.Clean("/" + filepath.ToSlash(folder))}).String()
}

// method is the key of the method that a request of the SDK is about; a notification has none.
type method struct{}

// send stands before all that the SDK sends.
func (t *attempt) send(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, name string, req mcp.Request) (mcp.Result, error) {
		ctx = context.WithValue(ctx, method{}, callOf(name))
		switch name {
		case "server/discover":
			within, cancel := context.WithTimeout(ctx, t.probe)
			defer cancel()
			res, err := next(within, name, req)
			if final(err) {
				t.end(err) // the SDK would go on with initialize
			}
			return res, err
		case "initialize":
			if t.pinned {
				break
			}
			// What is left is divided: a server that hangs because of discover gets another chance.
			deadline, _ := ctx.Deadline()
			left := time.Until(deadline)
			within, cancel := context.WithTimeoutCause(ctx, left*2/3, errHang)
			defer cancel()
			res, err := next(within, name, req)
			if err != nil && ctx.Err() == nil && within.Err() != nil {
				err = errHang
			}
			return res, err
		case "subscriptions/listen":
			return &mcp.SubscriptionsListenResult{}, nil // see listen: the SDK's can neither be waited for nor opened anew
		}
		ctx, end := t.observe(ctx, name, req)
		res, err := next(ctx, name, req)
		end(err)
		fresh(res)
		return res, err
	}
}

// metaTrace is the key of a request's traceparent in its _meta (SEP-414).
const metaTrace = "traceparent"

// observe tells of a request, and the server of the trace that it is part of.
func (t *attempt) observe(ctx context.Context, name string, req mcp.Request) (context.Context, func(error)) {
	if t.o.Observe == nil || callOf(name) == "" {
		return ctx, func(error) {}
	}
	target, params := "", mcp.Params(nil)
	switch p := req.GetParams().(type) { // of the other kinds there may be none
	case *mcp.CallToolParams:
		target, params = p.Name, p
	case *mcp.GetPromptParams:
		target, params = p.Name, p
	case *mcp.ReadResourceParams:
		params = p
	}
	ctx, trace, end := t.o.Observe(ctx, strings.TrimPrefix(name, ours), target)
	if trace != "" && params != nil {
		meta := maps.Clone(params.GetMeta())
		if meta == nil {
			meta = map[string]any{}
		}
		meta[metaTrace] = trace
		params.SetMeta(meta)
	}
	return ctx, end
}

var errHang = errors.New("no answer to initialize")

// callOf is the method of a request, and "" of a notification.
func callOf(name string) string {
	if len(name) > len(notifications) && name[:len(notifications)] == notifications {
		return ""
	}
	return name
}

const notifications = "notifications/"

// fresh keeps the SDK from answering out of its cache, for as long as the server says: we ask when we want to know.
func fresh(res mcp.Result) {
	switch r := res.(type) {
	case *mcp.ListToolsResult:
		r.TTLMs = 0
	case *mcp.ListResourcesResult:
		r.TTLMs = 0
	case *mcp.ListPromptsResult:
		r.TTLMs = 0
	case *mcp.ReadResourceResult:
		r.TTLMs = 0
	}
}

// register names the methods that we send past the SDK. It refuses only names that it has itself.
func register(c *mcp.Client) {
	_ = mcp.AddSendingCustomMethod[*mcp.ListToolsParams, *rawTools](c, ours+"tools/list")
	_ = mcp.AddSendingCustomMethod[*mcp.SubscriptionsListenParams, *mcp.SubscriptionsListenResult](c, ours+"subscriptions/listen")
}
