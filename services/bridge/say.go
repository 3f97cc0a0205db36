package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// linked is a result that has more content than its JSON.
type linked interface{ links() []mcp.Content }

// said is a result as clients of this protocol know it: a line, and the whole of it as JSON for those that do not read structured
// content.
func said(line string, out any) (*mcp.CallToolResult, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, fmt.Errorf("write the result: %w", err)
	}
	raw := bytes.TrimSpace(b.Bytes())
	res := &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: line + "\n\n" + string(raw)}},
		StructuredContent: json.RawMessage(raw),
	}
	if l, ok := out.(linked); ok {
		res.Content = append(res.Content, l.links()...)
	}
	return res, nil
}

func failed(err error) *mcp.CallToolResult { return refused(err.Error()) }

// refused is a result that says why there is none: a model is to read it.
func refused(why string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: why}}}
}
