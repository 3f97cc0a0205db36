package fakemcp

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Arguments of the tools.
type (
	textArgs struct {
		Text string `json:"text"`
	}
	markerArgs struct {
		Marker string `json:"marker"`
	}
	slowArgs struct {
		MS int `json:"ms"`
	}
	stepArgs struct {
		Steps int `json:"steps"`
		MS    int `json:"ms,omitempty"`
	}
	bigArgs struct {
		Bytes int `json:"bytes"`
	}
	callsArgs struct {
		Calls int `json:"calls"`
	}
	none struct{}
)

// Names of the tools that tests ask for.
const (
	Echo   = "echo"
	Look   = "look"
	Append = "append"
	Put    = "put"
	Big    = "big"

	Await   = "await"
	Awaited = "awaited"
	Release = "release"

	flip = "flipped"
)

const (
	maxBig = 64 << 20
	maxMS  = 3_600_000
)

// tools of one server: all its sessions share them.
type tools struct {
	o      Options
	server *mcp.Server
	ended  <-chan struct{} // the server is to end: hanging calls go with it

	waiting *room

	mu      sync.Mutex
	flipped bool              // guarded by mu
	kept    map[string]string // guarded by mu; by session
}

func (b bigArgs) text() string { return strings.Repeat("x", max(0, min(b.Bytes, maxBig))) }

func said(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// offer adds a tool whose arguments are those of In.
func offer[In any](t *tools, name, what string, notes *mcp.ToolAnnotations, do func(context.Context, *mcp.CallToolRequest, In) (*mcp.CallToolResult, error)) {
	mcp.AddTool(t.server, &mcp.Tool{Name: name, Description: what, Annotations: notes},
		func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			res, err := do(ctx, r, in)
			return res, nil, err
		})
}

func (t *tools) add() {
	repeat := func(_ context.Context, _ *mcp.CallToolRequest, in textArgs) (*mcp.CallToolResult, error) {
		return said("%s", in.Text), nil
	}
	offer(t, Echo, "Repeats a text.", nil, repeat)
	offer(t, Look, "Repeats a text, and says that it changes nothing.", &mcp.ToolAnnotations{ReadOnlyHint: true}, repeat)
	write := func(tool string) func(context.Context, *mcp.CallToolRequest, markerArgs) (*mcp.CallToolResult, error) {
		return func(_ context.Context, _ *mcp.CallToolRequest, in markerArgs) (*mcp.CallToolResult, error) {
			if err := t.o.Ledger.add(tool, in.Marker); err != nil {
				return nil, err
			}
			return said("written: %s", in.Marker), nil
		}
	}
	additive := false
	offer(t, Append, "Writes a marker down. Twice is once too often.", &mcp.ToolAnnotations{DestructiveHint: &additive}, write(Append))
	offer(t, Put, "Writes a marker down, as often as you like.", &mcp.ToolAnnotations{DestructiveHint: &additive, IdempotentHint: true}, write(Put))
	offer(t, "keep", "Keeps a text for this connection, and says what was kept before.", nil, t.keep)
	offer(t, "slow", "Answers after a while.", nil, t.slow)
	offer(t, "progress", "Reports step after step.", nil, progress)
	offer(t, "fail", "Answers that it failed.", nil, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, error) {
		r := said("this tool always fails")
		r.IsError = true
		return r, nil
	})
	offer(t, "crash", "Ends the server.", nil, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, error) {
		if err := t.o.Ledger.add("crash", "begun"); err != nil {
			return nil, err
		}
		t.o.Crash()
		<-t.ended
		return said("ended"), nil
	})
	offer(t, "hang", "Never answers.", nil, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, error) {
		if err := t.o.Ledger.add("hang", "begun"); err != nil {
			return nil, err
		}
		<-t.ended
		return said("ended"), nil
	})
	offer(t, "flip", "Changes the list of tools.", nil, t.flip)
	offer(t, Big, "Answers with much text.", nil, func(_ context.Context, _ *mcp.CallToolRequest, in bigArgs) (*mcp.CallToolResult, error) {
		return said("%s", in.text()), nil
	})
	offer(t, Await, "Waits to be released.", nil, t.waiting.await)
	offer(t, Awaited, "Waits for calls that wait.", nil, t.waiting.awaited)
	offer(t, Release, "Releases the calls that wait.", nil, t.waiting.release)
	for i := range t.o.More {
		offer(t, fmt.Sprintf("more_%04d", i), "One of many.", nil, repeat)
	}
}

func (t *tools) keep(_ context.Context, r *mcp.CallToolRequest, in textArgs) (*mcp.CallToolResult, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := r.Session.ID() // "" over stdio, where a process has one session
	before := t.kept[id]
	t.kept[id] = in.Text
	return said("before: %s", before), nil
}

func (t *tools) slow(ctx context.Context, _ *mcp.CallToolRequest, in slowArgs) (*mcp.CallToolResult, error) {
	if err := t.o.Ledger.add("slow", "begun"); err != nil {
		return nil, err
	}
	if err := rest(ctx, in.MS); err != nil {
		return nil, t.o.Ledger.add("slow", "cancelled")
	}
	return said("after %d ms", in.MS), nil
}

func rest(ctx context.Context, millis int) error {
	clock := time.NewTimer(time.Duration(max(0, min(millis, maxMS))) * time.Millisecond)
	defer clock.Stop()
	select {
	case <-clock.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func progress(ctx context.Context, r *mcp.CallToolRequest, in stepArgs) (*mcp.CallToolResult, error) {
	token := r.Params.GetProgressToken()
	for i := range in.Steps {
		if err := rest(ctx, in.MS); err != nil {
			return nil, err
		}
		if token == nil {
			continue
		}
		err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(i + 1), Total: float64(in.Steps), Message: fmt.Sprintf("step %d", i+1),
		})
		if err != nil {
			return nil, err
		}
	}
	return said("%d steps", in.Steps), nil
}

func (t *tools) flip(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flipped = !t.flipped
	if !t.flipped {
		t.server.RemoveTools(flip)
		return said("%s is gone", flip), nil
	}
	offer(t, flip, "Is there now and then.", nil, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, error) {
		return said("here"), nil
	})
	return said("%s is there", flip), nil
}
