package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of a list of tools.
const (
	MaxTools     = 10_000
	maxListBytes = 8 << 20
	maxPages     = 1_000
	maxListing   = 2 * time.Minute
)

// Tool is a tool as the server describes it. All of it is untrusted.
type Tool struct {
	Name, Title, Description string
	Schema                   json.RawMessage // byte for byte the server's; nil if it has none
	ReadOnly, Destructive    *bool           // nil: not said
	Idempotent, OpenWorld    *bool
	Annotated                bool // it has annotations at all
	TaskRequired             bool // it can only be called as a task, which we do not do
}

// rawTools is a page of tools, not understood yet: the SDK's own type loses fields, the digits of numbers and the order of keys,
// and one tool that it does not understand costs it the page.
type rawTools struct {
	mcp.ResultBase
	Tools      []json.RawMessage `json:"tools"`
	NextCursor string            `json:"nextCursor"`
}

type rawTool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations *struct {
		Title           string `json:"title"`
		ReadOnlyHint    *bool  `json:"readOnlyHint"`
		DestructiveHint *bool  `json:"destructiveHint"`
		IdempotentHint  *bool  `json:"idempotentHint"`
		OpenWorldHint   *bool  `json:"openWorldHint"`
	} `json:"annotations"`
	Execution *struct {
		TaskSupport string `json:"taskSupport"`
	} `json:"execution"`
}

// Tools asks for all tools. A tool that cannot be understood is left out; a list without an end, or beyond the limits, is an
// error. A server that does not offer tools has none.
func (s *Session) Tools(ctx context.Context) ([]Tool, error) {
	if !s.info.Tools {
		return nil, nil
	}
	began := time.Now()
	var (
		tools  []Tool
		size   int
		headed bool
		odd    int
		seen   = map[string]bool{}
	)
	for cursor, pages := "", 0; ; pages++ {
		if pages == maxPages || seen[cursor] {
			return nil, &answerError{"tools/list: the pages of the list have no end"}
		}
		if time.Since(began) > maxListing {
			return nil, &TimeoutError{What: "tools/list", After: maxListing}
		}
		seen[cursor] = true
		page, err := s.toolPage(ctx, cursor)
		if err != nil {
			return nil, err
		}
		for _, raw := range page.Tools {
			size += len(raw)
			headed = headed || bytes.Contains(raw, []byte(`"x-mcp-header"`))
			if t, ok := toolOf(raw); ok {
				tools = append(tools, t)
			} else {
				odd++
			}
		}
		if len(tools)+odd > MaxTools || size > maxListBytes {
			return nil, &answerError{fmt.Sprintf("tools/list: the server lists more than %d tools or %d MiB", MaxTools, maxListBytes>>20)}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if odd > 0 && s.o.Log != nil {
		s.o.Log.WarnContext(ctx, "tools that cannot be understood are left out", "server", s.o.Server, "tools", odd)
	}
	if headed && !s.info.Legacy && s.link.http != nil {
		if err := s.learnHeaders(ctx); err != nil {
			return nil, err
		}
	}
	return tools, nil
}

func (s *Session) toolPage(ctx context.Context, cursor string) (*rawTools, error) {
	p := &mcp.ListToolsParams{Cursor: cursor}
	return do(ctx, s, &call{what: "tools/list"}, func(ctx context.Context) (*rawTools, error) {
		return mcp.CallCustomMethod[*mcp.ListToolsParams, *rawTools](ctx, s.mcp, ours+"tools/list", p)
	})
}

// learnHeaders lists the tools once more, for the SDK to see: of arguments that a schema marks so, it sends copies as HTTP headers,
// which the server insists on.
func (s *Session) learnHeaders(ctx context.Context) error {
	cursor := ""
	for range maxPages {
		p := &mcp.ListToolsParams{Cursor: cursor}
		page, err := do(ctx, s, &call{what: "tools/list"}, func(ctx context.Context) (*mcp.ListToolsResult, error) {
			return s.mcp.ListTools(ctx, p)
		})
		if err != nil {
			return err
		}
		if cursor = page.NextCursor; cursor == "" {
			return nil
		}
	}
	return nil
}

func toolOf(data json.RawMessage) (Tool, bool) {
	var raw rawTool
	if json.Unmarshal(data, &raw) != nil || raw.Name == "" {
		return Tool{}, false
	}
	t := Tool{Name: raw.Name, Title: raw.Title, Description: raw.Description}
	if len(raw.InputSchema) > 0 && string(raw.InputSchema) != "null" {
		t.Schema = raw.InputSchema
	}
	if a := raw.Annotations; a != nil {
		t.Annotated = true
		t.ReadOnly, t.Destructive, t.Idempotent, t.OpenWorld = a.ReadOnlyHint, a.DestructiveHint, a.IdempotentHint, a.OpenWorldHint
		if t.Title == "" {
			t.Title = a.Title
		}
	}
	t.TaskRequired = raw.Execution != nil && raw.Execution.TaskSupport == "required"
	return t, true
}
