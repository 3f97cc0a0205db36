package client_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestObserve: each request is told of, and a server hears of the trace that a call is part of, beside what stands there anyway.
func TestObserve(t *testing.T) {
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	server := newServer(nil)
	var meta map[string]any
	tool(server, "look", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		meta = r.Params.GetMeta()
		return text("seen"), nil
	})
	tool(server, "fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, context.Canceled })
	var mu sync.Mutex
	var told []string
	o := options(behind(server))
	o.Observe = func(ctx context.Context, method, target string) (context.Context, string, func(error)) {
		return ctx, trace, func(err error) {
			mu.Lock()
			defer mu.Unlock()
			what := strings.TrimSpace(method + " " + target)
			if err != nil {
				what += " failed"
			}
			told = append(told, what)
		}
	}
	s := connect(t, o)
	if _, err := s.Call(t.Context(), "look", nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Call(t.Context(), "fail", nil, nil); err == nil {
		t.Error("it did not fail")
	}
	if meta["traceparent"] != trace || meta["progressToken"] == nil {
		t.Errorf("the server is told %v", meta)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"tools/call look", "tools/call fail failed"} {
		if !slices.Contains(told, want) {
			t.Errorf("%q is missing in %q", want, told)
		}
	}
	if slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, "jetclaw/") || strings.HasPrefix(s, "notifications/") }) {
		t.Errorf("told of %q", told)
	}
}
