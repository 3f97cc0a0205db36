package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// maxBack is how many events before the end of a turn its call's end is looked for.
const maxBack = 64

// result is what became of the call of a turn that has ended.
func (c *client) result(ctx context.Context, id session.ID, reply replyAnswer) (*mcp.CallToolResult, error) {
	found, err := with(ctx, c.b.line, func(ctx context.Context, conn *bus.Conn) (*mcp.CallToolResult, error) {
		at := reply.Cursor
		for range maxBack {
			if at == 0 {
				break
			}
			ev, err := conn.Journal().Get(ctx, at)
			if errors.Is(err, bus.ErrNoEvent) {
				break
			}
			if err != nil {
				return nil, err
			}
			switch b := ev.Body.(type) {
			case callv1.Completed:
				return completed(ctx, conn, id, b)
			case callv1.Denied:
				return refused(b.Reason), nil
			case turnv1.Stepped:
				if len(b.Calls) > 0 && b.Calls[0].Refusal != "" {
					return refused(b.Calls[0].Refusal), nil
				}
			case turnv1.Started:
				return nil, nil
			}
			at = ev.Prev
		}
		return nil, nil
	})
	if err != nil {
		return failed(fmt.Errorf("the result cannot be read: %w", err)), nil
	}
	if found == nil {
		return refused(reply.Status + ": " + reply.Text), nil
	}
	return found, nil
}

// maxInline bounds the bytes of a file that is put into a result.
const maxInline = 4 << 20

func completed(ctx context.Context, conn *bus.Conn, id session.ID, b callv1.Completed) (*mcp.CallToolResult, error) {
	res := &mcp.CallToolResult{IsError: b.Outcome != callv1.OK, Content: []mcp.Content{&mcp.TextContent{Text: b.Content}}}
	if b.Outcome != callv1.OK && b.Outcome != callv1.Error {
		res.Content = append(res.Content, &mcp.TextContent{Text: "outcome: " + string(b.Outcome)})
	}
	for _, f := range b.Files {
		if f.Size > maxInline {
			res.Content = append(res.Content, &mcp.TextContent{Text: fmt.Sprintf("%s (%d bytes) is too large to be passed on", f.Name, f.Size)})
			continue
		}
		data, err := conn.GetFile(ctx, id, f.Digest)
		if err != nil {
			return nil, err
		}
		res.Content = append(res.Content, fileOf(f, data))
	}
	return res, nil
}

func fileOf(f callv1.Attachment, data []byte) mcp.Content {
	switch kind, _, _ := strings.Cut(f.Type, "/"); kind {
	case "image":
		return &mcp.ImageContent{Data: data, MIMEType: f.Type}
	case "audio":
		return &mcp.AudioContent{Data: data, MIMEType: f.Type}
	}
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "jetclaw://files/" + f.Digest, MIMEType: f.Type, Blob: data}}
}
