package bridge

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// said is a result as clients of this protocol know it: a line that counts, and, where there is something, the whole of it as JSON for
// those that do not read structured content.
func said(line string, out any, all bool) *mcp.CallToolResult {
	if all {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(out); err == nil { // what cannot be written the structured content will say
			line += "\n\n" + string(bytes.TrimSpace(b.Bytes()))
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: line}}}
}
