package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
)

func TestManyTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(&mcp.ServerOptions{PageSize: 700})
		for i := range 5000 {
			tool(server, fmt.Sprintf("t%04d", i), nil)
		}
		s := connect(t, options(behind(server)))
		for range 2 { // the second list is no copy of the first
			tools, err := s.Tools(t.Context())
			if err != nil || len(tools) != 5000 {
				t.Fatalf("%d tools, %v", len(tools), err)
			}
			if tools[0].Name != "t0000" || tools[4999].Name != "t4999" {
				t.Errorf("%q to %q", tools[0].Name, tools[4999].Name)
			}
		}
		tool(server, "zz", nil)
		if tools, err := s.Tools(t.Context()); err != nil || len(tools) != 5001 {
			t.Errorf("%d tools, %v", len(tools), err)
		}
	})
}

func TestToolsAsListed(t *testing.T) {
	const odd = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"b":{"pattern":"(?=x)y"},` +
		`"a":{"$ref":"#"},"n":{"maximum":12345678901234567890.10}}}`
	list := `[{"name":"odd","inputSchema":` + odd + `,"execution":{"taskSupport":"required"}},` +
		`null,{"name":7},{"inputSchema":{}},{"name":"bare"},` +
		`{"name":"said","description":"d","inputSchema":{},"annotations":{"title":"T","readOnlyHint":true,"idempotentHint":false}}]`
	synctest.Test(t, func(t *testing.T) {
		var starts atomic.Int32
		s := connect(t, options(scripted(&starts, func(_ int, p *peer, m message) {
			if !p.greet(m) && m.Method == "tools/list" {
				p.answer(m, `{"tools":`+list+`}`)
			}
		})))
		tools, err := s.Tools(t.Context())
		if err != nil || len(tools) != 3 {
			t.Fatalf("%v %v", tools, err)
		}
		if a := tools[0]; a.Name != "odd" || string(a.Schema) != odd || !a.TaskRequired || a.Annotated {
			t.Errorf("%+v\n%s", a, a.Schema)
		}
		if a := tools[1]; a.Name != "bare" || a.Schema != nil {
			t.Errorf("%+v", a)
		}
		a := tools[2]
		if !a.Annotated || a.Title != "T" || a.ReadOnly == nil || !*a.ReadOnly || a.Idempotent == nil || *a.Idempotent ||
			a.Destructive != nil || a.OpenWorld != nil {
			t.Errorf("%+v", a)
		}
	})
}

func TestToolsWithoutEnd(t *testing.T) {
	big := `{"name":"x","description":"` + strings.Repeat("x", 1<<20) + `"}`
	for name, page := range map[string]func(n int) string{
		"the same page":  func(int) string { return `{"tools":[],"nextCursor":"c"}` },
		"always another": func(n int) string { return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, n) },
		"too many": func(n int) string {
			return fmt.Sprintf(`{"tools":[{"name":"x"}%s],"nextCursor":"%d"}`, strings.Repeat(`,{"name":"x"}`, 999), n)
		},
		"too big":        func(n int) string { return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, big, n) },
		"not even tools": func(int) string { return `{"tools":{"a":1}}` },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var starts atomic.Int32
				var n int
				s := connect(t, options(scripted(&starts, func(_ int, p *peer, m message) {
					if !p.greet(m) {
						n++
						p.answer(m, page(n))
					}
				})))
				tools, err := s.Tools(t.Context())
				if err == nil || !client.Broken(err) {
					t.Errorf("%d tools, %v", len(tools), err)
				}
			})
		})
	}
}

func TestNoTools(t *testing.T) {
	s := connect(t, options(behind(newServer(&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}}))))
	if tools, err := s.Tools(t.Context()); err != nil || len(tools) != 0 {
		t.Errorf("%v %v", tools, err)
	}
}

func BenchmarkCall(b *testing.B) {
	server := newServer(nil)
	tool(server, "echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(string(r.Params.Arguments)), nil
	})
	s, err := client.Connect(b.Context(), options(behind(server)))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close(context.Background()) })
	args := json.RawMessage(`{"a":1}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Call(b.Context(), "echo", args, nil); err != nil {
			b.Fatal(err)
		}
	}
}
