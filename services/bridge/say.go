package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// linked is a result that has more content than its JSON.
type linked interface{ links() []mcp.Content }

// shared is a result that many are told at the same time: who has the same key is told the same. nil: it is nobody else's.
type shared interface{ key() any }

// rendering keeps the last shared result as it was written.
type rendering struct {
	mu   sync.Mutex
	key  any    // guarded by mu
	raw  []byte // guarded by mu; never written to
	text string // guarded by mu
}

// of writes a result, or finds it written.
func (r *rendering) of(line string, out any) (raw []byte, text string, err error) {
	s, ok := out.(shared)
	if !ok || s.key() == nil {
		return written(line, out)
	}
	r.mu.Lock() // while one writes the others wait: they want the same
	defer r.mu.Unlock()
	if r.key == s.key() {
		return r.raw, r.text, nil
	}
	if raw, text, err = written(line, out); err == nil {
		r.key, r.raw, r.text = s.key(), raw, text
	}
	return raw, text, err
}

func written(line string, out any) (raw []byte, text string, err error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, "", fmt.Errorf("write the result: %w", err)
	}
	raw = bytes.TrimSpace(b.Bytes())
	return raw, line + "\n\n" + string(raw), nil
}

// said is a result as clients of this protocol know it: a line, and the whole of it as JSON for those that do not read structured
// content.
func (r *rendering) said(line string, out any) (*mcp.CallToolResult, error) {
	raw, text, err := r.of(line, out)
	if err != nil {
		return nil, err
	}
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: json.RawMessage(raw)}
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
